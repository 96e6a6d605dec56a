"""What stands around the README's lines for Lightning, and trainings of its own after them."""

import os
import time
from collections.abc import Iterator

import torch

if os.environ.get("OLDER_NAME"):
    from pytorch_lightning import LightningModule, Trainer
else:
    from lightning.pytorch import LightningModule, Trainer

SAMPLES, WIDTH = 24, 64
QUIET = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "accelerator": "cpu"}


class Slow(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, _: int) -> torch.Tensor:
        time.sleep(0.001)
        return torch.ones(WIDTH)


class Endless(torch.utils.data.IterableDataset):
    """Nobody knows its length, so that Lightning asks for a batch that does not come."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (torch.ones(WIDTH) for _ in range(SAMPLES))


class Module(LightningModule):
    def __init__(self, width: int = WIDTH, fails_at: int = -1) -> None:  # noqa: ARG002 - kept as a hyperparameter
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(width, width)

    def training_step(self, batch: torch.Tensor, number: int) -> torch.Tensor:
        if number == self.hparams.fails_at:
            raise ValueError("no such batch")
        loss = self.layer(batch).square().mean()
        time.sleep(0.005)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: torch.Tensor, _: int) -> None:
        self.log("val_loss", self.layer(batch).square().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.set_num_threads(1)
module = Module()
loader = torch.utils.data.DataLoader(Slow(), batch_size=4)


def of_two_ranks() -> None:
    """With a validation after each epoch, two batches in a step, and a callback from the environment alone."""
    trainer = Trainer(**QUIET, max_epochs=2, devices=2, strategy="ddp", accumulate_grad_batches=2, log_every_n_steps=1)
    trainer.fit(module, torch.utils.data.DataLoader(Slow(), batch_size=2), loader)


def that_fails() -> None:
    """In its second epoch; the batches before came from a loader without a length."""
    from roundwatch.integrations.lightning import Callback

    trainer = Trainer(**QUIET, max_epochs=2, callbacks=[Callback("fails")])
    trainer.fit(module, torch.utils.data.DataLoader(Endless(), batch_size=4))
    trainer.fit_loop.max_epochs = 4
    trainer.fit(Module(fails_at=1), loader)
