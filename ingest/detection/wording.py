"""Figures in words, the same for every subject; and what a run's rounds and workers are called."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """What a run's rounds and workers are called, in the singular."""

    round: str = "round"
    worker: str = "worker"

    def said(self, text: str) -> str:
        """A text of ours about rounds and workers in these words; never one with names in it that others gave."""
        for usual, own in (("round", self.round), ("worker", self.worker)):
            if own != usual:
                text = re.sub(rf"\b{usual}(?=s?\b)", own, text)
                text = re.sub(rf"\b{usual.capitalize()}(?=s?\b)", own.capitalize(), text)
        return text


ROUNDS = Words()
STEPS = Words("step", "rank")


def duration(seconds: float) -> str:
    """Seconds as people read them: 17.8 s, 0.42 s, 35 ms."""
    if seconds < 0.1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"


def size(value: float) -> str:
    """Bytes as people read them: 2.3 GiB, 512 MiB."""
    return f"{value / (1 << 30):.1f} GiB" if abs(value) >= 1 << 30 else f"{value / (1 << 20):.0f} MiB"
