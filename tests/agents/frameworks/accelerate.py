"""What stands around the README's lines for Accelerate."""

import time

import torch

WIDTH = 64


def loss_of(made: torch.Tensor) -> torch.Tensor:
    time.sleep(0.005)
    return made.square().mean()


torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.ones(32, WIDTH), batch_size=4)
