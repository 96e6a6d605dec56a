"""The coordinator: averages what the trainers learned, keeps a copy on disk, and gives it back to all."""

import socket
import tempfile
from typing import BinaryIO

import numpy as np

import roundwatch
from federated import delta, faults
from federated.data import Floats
from federated.hub import Hub
from federated.model import Network
from federated.options import Options


def coordinate(options: Options) -> None:
    """Leads every round of the training."""
    model = SharedModel(options)
    hub = Hub(
        socket.socket(fileno=options.socket),
        trainers=options.trainers,
        bytes_per_second=options.link_mbit * 1e6 / 8,
    )
    run = roundwatch.init(
        project="digits",
        name=options.name,
        run_id=options.run_id,
        role="coordinator",
        rounds=options.rounds or None,
        config=options.config(),
        model_bytes=model.weights.nbytes,
    )
    hub.wait_for_trainers()
    # Without a name, so that however this process ends no file stays behind.
    with tempfile.TemporaryFile() as file:
        for r in options.numbers():
            with run.round(r):
                with run.phase("wait", after="upload"):
                    blobs = hub.collect(r)
                with run.phase("aggregate", trainers=len(blobs)):
                    remember(run, model.aggregate(blobs))
                with run.phase("save", artifact=f"model-{r}") as phase:
                    phase.set(nbytes=model.save(file))
                with run.phase("prepare") as phase:
                    update = model.prepare()
                    phase.set(nbytes=len(update))
                with run.phase("sync", nbytes=len(update) * len(blobs)):
                    hub.publish(r, update)
                    hub.wait_until_fetched(r)
    run.finish()


def remember(run: roundwatch.Run, deltas: list[Floats]) -> None:
    """Nothing should hold them any more in the rounds to come."""
    for each in deltas:
        run.track(each, "deltas")


class SharedModel:
    """The weights that all share, and the step that the trainers are to take next."""

    def __init__(self, options: Options) -> None:
        self.weights = Network(options.width).flat
        self._step = np.zeros_like(self.weights)
        self._retained = faults.Retention(options)

    def aggregate(self, blobs: dict[int, bytes]) -> list[Floats]:
        """Averages the trainers' deltas, which it returns; one much longer than the others is shortened."""
        deltas = [delta.decode(blob) for blob in blobs.values()]
        lengths = np.array([np.linalg.norm(each) for each in deltas])
        shrink = np.minimum(1, 2 * np.median(lengths) / np.maximum(lengths, 1e-12))
        for each, factor in zip(deltas, shrink, strict=True):
            self._step += each * np.float32(factor / len(deltas))
        self._retained.keep(deltas)
        return deltas

    def save(self, file: BinaryIO) -> int:
        """Writes the model as it will be after this step over what `file` held; returns its size in bytes."""
        file.seek(0)
        np.savez_compressed(file, weights=self.weights + self._step)
        file.truncate()
        return file.tell()

    def prepare(self) -> bytes:
        """The step in four bits a weight; what they cannot hold stays for the next one."""
        update, restored = delta.encode(self._step)
        self.weights += restored
        self._step -= restored
        return update
