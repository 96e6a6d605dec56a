"""A trainer: learns from its own digits, sends what it learned, applies what all learned together."""

import time
from collections.abc import Callable

import numpy as np

import roundwatch
from federated import delta, faults
from federated.data import Loader, evaluation_digits, trainer_digits
from federated.link import Link
from federated.model import Network
from federated.options import Options

BATCH, RATE = 32, 0.05


def train(options: Options) -> None:
    """Takes part in every round of the training."""
    k = options.trainer
    learner = Learner(options)
    link = Link(options.port, trainer=k, bytes_per_second=options.link_mbit * 1e6 / 8)
    run = roundwatch.init(
        project="digits",
        name=options.name,
        run_id=options.run_id,
        worker=f"trainer-{k}",
        rank=k,
        rounds=options.rounds or None,
        config=options.config(),
        model_bytes=learner.model.flat.nbytes,
    )
    link.join()
    for r in options.numbers():
        began = time.monotonic()
        with run.round(r):
            with run.phase("train") as phase:
                faults.perhaps_die(options, r)
                phase.set(items=learner.train(options.train_seconds, run.progress))
            with run.phase("encode") as phase:
                blob = learner.encode()
                phase.set(nbytes=len(blob))
            with run.phase("upload", nbytes=len(blob)):
                link.upload(r, blob)
            with run.phase("wait", after="prepare"):
                update = link.wait_for_update(r)
            with run.phase("download", after="prepare", nbytes=update.nbytes):
                blob = update.read()
            with run.phase("apply"):
                learner.apply(blob)
            with run.phase("eval"):
                loss, accuracy = learner.evaluate()
            run.log({"loss": loss, "accuracy": accuracy})
        if k == 0:
            seconds = time.monotonic() - began
            print(f"round {r}: accuracy {accuracy:.1%}, loss {loss:.3f}, {seconds:.1f} s", flush=True)
    run.finish()


class Learner:
    """The model of one trainer: between exchanges it moves away from `anchor`, the weights that all share."""

    def __init__(self, options: Options) -> None:
        k = options.trainer
        self.model = Network(options.width)
        self._anchor = self.model.flat.copy()
        self._lost = np.zeros_like(self._anchor)  # by quantisation; added to the next delta
        digits = trainer_digits(k, options.trainers)
        self._loader = Loader(*digits, batch=BATCH, per_second=options.batch_rate, seed=k)
        self._evaluation = evaluation_digits()
        self._pack = faults.perhaps_starved(options, delta.encode)

    def train(self, seconds: float, progress: Callable[[float, float], None]) -> int:
        """Trains on its own digits for so long; returns how many it saw."""
        began, seen = time.monotonic(), 0
        for images, labels in self._loader.batches(seconds):
            self.model.step(images, labels, RATE)
            seen += len(labels)
            progress(min(time.monotonic() - began, seconds), seconds)
        return seen

    def encode(self) -> bytes:
        """What was learned since the anchor, in four bits a weight."""
        learned = self.model.flat - self._anchor + self._lost
        blob, restored = self._pack(learned)
        self._lost = learned - restored
        return blob

    def apply(self, update: bytes) -> None:
        """Moves the anchor by what all learned together, and goes on from there."""
        self._anchor += delta.decode(update)
        self.model.flat[:] = self._anchor

    def evaluate(self) -> tuple[float, float]:
        """(loss, accuracy) on digits that nobody learns from."""
        return self.model.evaluate(*self._evaluation)
