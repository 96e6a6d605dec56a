"""What stands around the README's lines for Hugging Face Trainer."""

import os
import time

import torch
from transformers import TrainingArguments

WIDTH = 64


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:  # noqa: ARG002
        made = self.layer(x)
        time.sleep(0.005)
        return {"loss": made.square().mean(), "logits": made}


torch.set_num_threads(1)
model = Model()
samples = [{"x": torch.ones(WIDTH), "labels": torch.zeros(1)}] * 16
arguments = TrainingArguments(
    output_dir=os.environ["TRAINING_FOLDER"],
    num_train_epochs=2,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=2,
    eval_strategy="epoch",
    save_strategy="epoch",
    logging_steps=1,
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
)
