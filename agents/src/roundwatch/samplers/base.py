"""What every sampler is and gives: readings, and the reasons for those it cannot give."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

CHUNK = 1 << 16


class Reading(NamedTuple):
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


@runtime_checkable
class Waiting(Protocol):
    """A sampler that need not be read each time. `due` is asked once before each reading."""

    @property
    def due(self) -> Callable[[], bool]: ...


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the kernel shows itself; tests put a tree of their own here."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


def contents(file: Path) -> str:
    """What a file of the kernel says: as `read_text`, at a quarter of its time. Raises OSError."""
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(fd, CHUNK)]
        while parts[-1]:
            parts.append(os.read(fd, CHUNK))
    except OSError as error:
        error.filename = os.fspath(file)  # where it can be opened and not read, nothing says which it was
        raise
    finally:
        os.close(fd)
    return b"".join(parts).decode(errors="replace")


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
