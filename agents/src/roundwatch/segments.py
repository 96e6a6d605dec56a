"""Segments on disk: records of one stream in cells of 72 bytes, each with its own CRC, so that damage stays small.

A cell is a CRC-32 of the rest, a tag (its kind) and 64 bytes. A text longer than a slot goes before the cell that owns
it, in TEXT cells. A segment begins with a BRIEF (whose stream it is) and a HEAD (all that is needed to go on from it).
A damaged cell costs its own record, never its neighbours; what more than one record needs is written twice.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from roundwatch import slots
from roundwatch.slots import Record

CELL = struct.Struct("<II64s")
TAGGED = struct.Struct("<I64s")
LENGTHS = struct.Struct("<2q")
TEXT, HEAD, NAME, RECORD, BRIEF = 1, 2, 3, 4, 5
LAYOUT = 2  # a BRIEF says it; what a later one means is not ours to guess. In the first there were no step records
TWICE_BYTES = 64 << 10  # a HEAD beyond it lists thousands of open phases, and is written once
DAMAGED_TEXT = b'{"roundwatch_attributes": "damaged on disk"}'


class Cell(NamedTuple):
    """A good cell with the text before it; `text` None where that was damaged."""

    tag: int
    payload: bytes
    text: bytes | None


@dataclass(slots=True)
class Contents:
    """What a segment's bytes say: heads b"" and names missing where damaged; records in the order of their numbers."""

    brief: bytes = b""
    head: bytes = b""
    names: dict[int, bytes] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    damaged: int = 0
    frayed: bool = False  # the last bytes are no whole good cell: more may have followed


def record_cells(record: Record) -> bytes:
    """A record as the cells to append."""
    cell = _cell(RECORD, slots.pack(record))
    return _texts(record.text) + cell if record.text else cell


def name_cells(number: int, words: bytes) -> bytes:
    """A name's definition as cells; `words` is its JSON."""
    return 2 * (_texts(words) + _cell(NAME, LENGTHS.pack(number, len(words))))


def head_cells(brief: bytes, head: bytes) -> bytes:
    """The beginning of a segment as cells."""
    parts = ((BRIEF, brief), (HEAD, head))
    cells = b"".join(_texts(text) + _cell(tag, LENGTHS.pack(0, len(text))) for tag, text in parts)
    return cells if len(cells) > TWICE_BYTES else 2 * cells


def contents(data: bytes) -> Contents:
    """Everything that is whole in a segment's bytes; a last cell that was cut off is no damage. Never raises."""
    found = Contents(frayed=bool(len(data) % CELL.size))
    for cell in _cells(data, found):
        if cell.tag == RECORD:
            text = DAMAGED_TEXT if cell.text is None else cell.text
            found.records.append(slots.unpack(cell.payload, text))
            continue
        if cell.text is None:
            found.damaged += 1
        elif cell.tag == NAME:
            found.names[LENGTHS.unpack_from(cell.payload)[0]] = cell.text
        elif cell.tag == HEAD:
            found.head = cell.text
        elif cell.tag == BRIEF:
            found.brief = cell.text
    return found


def whole(records: Iterable[Record], first: int, last: int) -> list[Record]:
    """The records of first .. last, in order, with a DROP for each range that damage took."""
    found: list[Record] = []
    want = first
    for record in sorted(records, key=lambda record: record.number):
        if not want <= record.number <= last:
            continue
        if record.number > want:
            found.append(_damage(want, record.number - 1))
        found.append(record)
        want = end_of(record)
    if want <= last:
        found.append(_damage(want, last))
    return found


def end_of(record: Record) -> int:
    """The number after the last that a record stands for."""
    if record.sort == slots.STEP:
        return record.number + record.other + 1
    return record.number + (record.start if record.sort == slots.DROP else 1)


def range_of(path: Path) -> tuple[int, int] | None:
    """(first, last) of a sealed segment, from its name; None for any other file."""
    first, _, last = path.stem.partition("-")
    if path.suffix == ".seg" and first.isdigit() and last.isdigit() and int(first) <= int(last):
        return int(first), int(last)
    return None


def _damage(first: int, last: int) -> Record:
    span = last - first + 1
    return slots.drop(first, span=span, count=span, reason="damaged")


def _cell(tag: int, payload: bytes) -> bytes:
    rest = TAGGED.pack(tag, payload)
    return zlib.crc32(rest).to_bytes(4, "little") + rest


def _texts(text: bytes) -> bytes:
    return b"".join(_cell(TEXT, text[at : at + slots.SIZE]) for at in range(0, len(text), slots.SIZE))


def _cells(data: bytes, found: Contents) -> Iterator[Cell]:
    pending: list[bytes] = []
    for at in range(0, len(data) - CELL.size + 1, CELL.size):
        crc, tag, payload = CELL.unpack_from(data, at)
        if zlib.crc32(data[at + 4 : at + CELL.size]) != crc:
            found.damaged += 1
            pending.clear()
            found.frayed |= at + 2 * CELL.size > len(data)
        elif tag == TEXT:
            pending.append(payload)
        else:
            yield Cell(tag, payload, _joined(pending, _length(tag, payload)))
            pending = []
    found.frayed |= bool(pending)


def _length(tag: int, payload: bytes) -> int:
    if tag == RECORD:
        return slots.length_of(payload)
    return int(LENGTHS.unpack_from(payload)[1])


def _joined(parts: list[bytes], length: int) -> bytes | None:
    want = -(-length // slots.SIZE)
    return b"".join(parts)[:length] if len(parts) == want else None
