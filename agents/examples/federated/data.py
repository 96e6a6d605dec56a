"""Handwritten digits (the UCI set that scikit-learn ships), split unevenly over trainers, and a loader."""

import importlib.util
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]
SIDE, CLASSES = 8, 10
HELD_OUT = 5  # every fifth digit is for evaluation


def load_digits() -> tuple[Floats, Labels]:
    """(images [n, 64] in 0..1, labels [n]). Reads the file itself: importing scikit-learn takes a second."""
    found = importlib.util.find_spec("sklearn")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("the example needs scikit-learn for its data: pip install scikit-learn")
    file = Path(found.submodule_search_locations[0], "datasets/data/digits.csv.gz")
    table = np.loadtxt(file, delimiter=",")
    return (table[:, :-1] / 16).astype(np.float32), table[:, -1].astype(np.int64)


def evaluation_digits() -> tuple[Floats, Labels]:
    """The digits that no trainer learns from."""
    images, labels = load_digits()
    return images[::HELD_OUT], labels[::HELD_OUT]


def trainer_digits(trainer: int, trainers: int) -> tuple[Floats, Labels]:
    """One trainer's own digits: each class is spread over the trainers by the same Dirichlet draw."""
    images, labels = load_digits()
    keep = np.arange(len(labels)) % HELD_OUT != 0
    images, labels = images[keep], labels[keep]
    shares = np.random.default_rng(7).dirichlet([2.0] * trainers, size=CLASSES)
    mine = []
    for digit in range(CLASSES):
        where = np.flatnonzero(labels == digit)
        cuts = (np.cumsum(shares[digit]) * len(where)).astype(int)
        mine.append(where[cuts[trainer - 1] if trainer else 0 : cuts[trainer]])
    chosen = np.concatenate(mine)
    return images[chosen], labels[chosen]


class Loader:
    """A thread that prepares batches as fast as its storage gives them, and never more than a few ahead."""

    def __init__(self, images: Floats, labels: Labels, *, batch: int, per_second: float, seed: int) -> None:
        self._images, self._labels, self._batch = images, labels, batch
        self._period_s = 1 / per_second
        self._draw = np.random.default_rng(seed)
        self._ready: queue.Queue[tuple[Floats, Labels]] = queue.Queue(maxsize=2)
        threading.Thread(target=self._fill, name="loader", daemon=True).start()

    def batches(self, seconds: float) -> Iterator[tuple[Floats, Labels]]:
        """Batches (images [batch, 64], labels [batch]) until `seconds` have passed; waits for each."""
        deadline = time.monotonic() + seconds
        with suppress(queue.Empty):
            while (left := deadline - time.monotonic()) > 0:
                yield self._ready.get(timeout=left)

    def _fill(self) -> None:
        while True:
            time.sleep(self._period_s)  # the storage's speed
            chosen = self._draw.integers(len(self._labels), size=self._batch)
            self._ready.put((self._moved(self._images[chosen]), self._labels[chosen]))

    def _moved(self, images: Floats) -> Floats:
        """The images moved by up to one pixel, so that a small set teaches more."""
        down, right = self._draw.integers(-1, 2, size=2)
        return np.roll(images.reshape(-1, SIDE, SIDE), (down, right), axis=(1, 2)).reshape(len(images), -1)
