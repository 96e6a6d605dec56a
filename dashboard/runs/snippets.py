"""What to paste into a training: one way for each sort of it. Tests run them as they stand here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    """`code` is pasted, `start` a line for the shell where the training is started otherwise than by python."""

    key: str
    name: str
    about: str
    code: str
    start: str = ""


PLAIN = Snippet(
    "plain", "Plain loop",
    "Any loop in rounds, over any transport: each process says its phases, and a coordinator, if there is one, says "
    "role=\"coordinator\".",
    """\
import roundwatch

run = roundwatch.init(project="my-project", rounds=20)
for r in range(20):
    with run.round(r):
        with run.phase("train"):
            train(model)
        with run.phase("encode"):
            blob = encode(model)
        with run.phase("upload", nbytes=len(blob)):
            send(blob)
run.finish()""",
)  # fmt: skip
TORCHRUN = Snippet(
    "torchrun", "torchrun",
    "Data-parallel steps of PyTorch: forward, backward, all-reduce and optimizer are told by the model itself, the "
    "wait for data by the loader. Ranks and their run are found.",
    """\
import roundwatch

run = roundwatch.init(project="my-project")
run.watch_ddp(model)
for batch in run.steps(loader):
    optimizer.zero_grad()
    loss = loss_of(model(batch))
    loss.backward()
    optimizer.step()
run.finish()""",
    "torchrun --nproc-per-node 8 train.py",
)  # fmt: skip
LIGHTNING = Snippet(
    "lightning", "Lightning", "One callback. It begins a run with each fit, on each rank, and ends it with the fit.",
    """\
from lightning.pytorch import Trainer
from roundwatch.integrations.lightning import Callback

trainer = Trainer(max_epochs=2, callbacks=[Callback("my-project")])
trainer.fit(module, loader)""",
)  # fmt: skip
TRANSFORMERS = Snippet(
    "transformers", "Hugging Face",
    "One callback. It begins a run with each training, on each rank, and ends it with the training.",
    """\
from transformers import Trainer
from roundwatch.integrations.transformers import Callback

trainer = Trainer(model=model, args=arguments, train_dataset=samples, eval_dataset=samples,
                  callbacks=[Callback("my-project")])
trainer.train()""",
)  # fmt: skip
ALL = (PLAIN, TORCHRUN, LIGHTNING, TRANSFORMERS)
