"""What every sampler is and gives: readings, and the reasons for those it cannot give."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of one metric now. `unit` is the Prometheus base unit that ends the metric's name, or "" for
    a count.

    `device` tells several of one kind apart ("eth0"); `source` is "host", "process" or "device".
    """

    metric: str
    unit: str
    value: float
    device: str | None = None
    source: str = "host"


class Sampler(Protocol):
    """Something that can be read again and again.

    `read` gives what could be had, and nothing for what could not: never a zero in its place. `absent` tells,
    for each metric that the last `read` could not give, why; `roundwatch doctor` prints it.
    """

    name: str

    @property
    def absent(self) -> Mapping[str, str]: ...

    def read(self) -> Iterable[Reading]: ...


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the kernel shows itself; tests put a tree of their own here."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


def reason(error: Exception) -> str:
    """Why something could not be read, in words for people: "/proc/stat: Permission denied"."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError):
        return f"the kernel's file has no line {error.args[0]!r}"
    return f"not in the form that is known ({error!r})"


def fields(text: str) -> dict[str, int]:
    """Lines "name value" or "name: value kB" (`memory.stat`, `meminfo`, `status`) as numbers, kB as bytes."""
    numbers = {}
    for line in text.splitlines():
        words = line.replace(":", " ").split()
        if len(words) >= 2 and words[1].isdigit():
            numbers[words[0]] = int(words[1]) * (1024 if words[-1] == "kB" else 1)
    return numbers
