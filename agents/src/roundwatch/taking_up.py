"""A stream that a shipper before this one left in a folder, made out of whatever of its segments is whole."""

import json
from collections.abc import Iterator
from pathlib import Path

from roundwatch import segments
from roundwatch.journal import Journal, Kept
from roundwatch.life import Life
from roundwatch.segments import Contents
from roundwatch.streams import Stream


class NewerError(ValueError):
    """A stream that a newer version wrote: not ours to read, and not ours to move."""


def found(folder: Path, kept: Kept, tail: int, number: int) -> tuple[Stream, int]:
    """The stream that lies in a folder, and the ring's number at which it goes on (see `Stream.restore`).

    Raises NewerError, OSError, ValueError, KeyError or TypeError where none can be made out.
    """
    journal = Journal(folder, kept)
    brief, life, following = b"", b"", []
    for contents in _newest_first(journal):
        brief = brief or contents.brief
        if not life:
            life = contents.head
            following.append(contents)
        if brief and life:
            break
    if not brief:
        raise ValueError("no segment says whose stream it is")
    said = json.loads(brief)
    if said.get("layout", 1) > segments.LAYOUT:
        raise NewerError(f"layout {said['layout']} is of a newer version, which may read it")
    stream = Stream(folder, said)
    stream.journal = journal
    stream.uncertain = any(contents.frayed for contents in following)
    known = json.loads(life) if life else Life().snapshot()
    return stream, stream.restore(known, following[::-1], tail=tail, number=number)


def _newest_first(journal: Journal) -> Iterator[Contents]:
    left = journal.find()
    if left is not None:
        yield left
    for known in reversed(journal.sealed):
        yield journal.load(known)
