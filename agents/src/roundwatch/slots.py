"""The 64-byte slot: how one record lies in a ring and in a segment.

Eight little-endian 64-bit words: head, where, start, parent, t0, t1, text, commit. The head packs the sort of record,
its clock, state, kind, another name and its name; `where` packs round and thread. What the middle words hold depends on
the sort:

| sort | start | parent | t0 | t1 | text |
| --- | --- | --- | --- | --- | --- |
| START | its own number | phase around it | begin | 0 | attributes |
| END | number of the start | phase around it | begin | duration | attributes |
| STEP | as END; `other` counts the phases in its text | the same | the same | the same | see `parts` |
| ROUND | 0 begins, 1 ends | -1 | begin | duration | |
| EVENT | -1 | -1 | time | 0 | attributes |
| SAMPLE | name of the device | 0 | time | the value, a double | |
| LIFECYCLE | -1 | -1 | time | 0 | what and data |
| DROP | span | count | from, or -1 | to, or -1 | |

`text` refers to JSON beside the slots: in a ring by position and length, in a segment by length, with the number of
records that the shipper has put between those of the ring up to here. The commit word, written last, is the number plus
one: a slot without it was never finished, and one of an earlier lap is told apart.
"""

import struct
import sys
from typing import NamedTuple

SIZE = 64
# The same bytes twice: struct packs a large number as a C long at half the cost of a long long.
LONGS = struct.calcsize("@l") == 8 and sys.byteorder == "little"
WORDS = struct.Struct("@8l" if LONGS else "<8q")
SAMPLE_WORDS = struct.Struct("@5ld2l" if LONGS else "<5qdqq")
# Without the words that are 0 in the start and the end of a phase that has no attributes: an x is packed as zero.
START_WORDS = struct.Struct("@5l16xl" if LONGS else "<5q16xq")
END_WORDS = struct.Struct("@6l8xl" if LONGS else "<6q8xq")

START, END, ROUND, EVENT, SAMPLE, LIFECYCLE, DROP, STEP = range(1, 9)

OTHER_SHIFT, KIND_SHIFT, STATE_SHIFT, CLOCK_SHIFT, SORT_SHIFT = 16, 32, 40, 48, 56
END_OF_START = (END - START) << SORT_SHIFT  # what turns the head of a phase's start into that of its end
STEP_OF_END = (STEP - END) << SORT_SHIFT  # and that into a step record's
STATE_ERROR = 1 << STATE_SHIFT
THREAD_BITS = 16
THREAD_MASK = (1 << THREAD_BITS) - 1
NO_ROUND = -1 << THREAD_BITS
LENGTH_BITS = 20
LENGTH_MASK = (1 << LENGTH_BITS) - 1

# What a DROP's kind and state words mean; the order is part of the segments on disk and may only grow.
DROPPED = ("any", "sample", "phase", "event", "lifecycle")
REASONS = ("ring full", "torn", "damaged", "disk full", "refused", "not kept", "power lost")


class Record(NamedTuple):
    """One slot, unpacked. `name` and `other` index the stream's names (0: none); `text` is its JSON, b"" for none.

    `number` is the ring's while it lies there; on its way it is the stream's, which is larger by `inserted`.
    """

    number: int
    sort: int
    name: int
    other: int
    kind: int
    state: int
    clock: int
    thread: int
    round: int
    start: int
    parent: int
    t0: int
    t1: float
    text: bytes = b""
    inserted: int = 0


def head(sort: int, name: int = 0, *, other: int = 0, kind: int = 0, state: int = 0, clock: int = 0) -> int:
    """The first word of a slot."""
    return (
        sort << SORT_SHIFT
        | clock << CLOCK_SHIFT
        | state << STATE_SHIFT
        | kind << KIND_SHIFT
        | other << OTHER_SHIFT
        | name
    )


def pack(record: Record) -> bytes:
    """A record as the slot of a segment."""
    number, sort, name, other, kind, state, clock, thread, round_, start, parent, t0, t1, text, inserted = record
    first = (  # as `head`, without its call
        sort << SORT_SHIFT
        | clock << CLOCK_SHIFT
        | state << STATE_SHIFT
        | kind << KIND_SHIFT
        | other << OTHER_SHIFT
        | name
    )
    words = SAMPLE_WORDS if sort == SAMPLE else WORDS
    where, beside = round_ << THREAD_BITS | thread, inserted << LENGTH_BITS | len(text)
    return words.pack(first, where, start, parent, t0, t1, beside, number + 1)


def length_of(slot: bytes) -> int:
    """How long the text is that belongs to a slot of a segment."""
    return int.from_bytes(slot[48:56], "little") & LENGTH_MASK


def unpack(slot: bytes, text: bytes = b"", *, from_ring: bool = False) -> Record:
    """The record in a slot of 64 bytes."""
    first, where, start, parent, t0, t1, beside, commit = WORDS.unpack(slot)
    sort = first >> SORT_SHIFT
    if sort == SAMPLE:
        t1 = SAMPLE_WORDS.unpack(slot)[5]
    name, other, kind = first & 0xFFFF, first >> OTHER_SHIFT & 0xFFFF, first >> KIND_SHIFT & 0xFF
    state, clock = first >> STATE_SHIFT & 0xFF, first >> CLOCK_SHIFT & 0xFF
    thread, round_, inserted = where & THREAD_MASK, where >> THREAD_BITS, 0 if from_ring else beside >> LENGTH_BITS
    return Record(
        commit - 1, sort, name, other, kind, state, clock, thread, round_, start, parent, t0, t1, text, inserted
    )


def drop(
    number: int, *, span: int, count: int, reason: str, what: str = "any", from_ns: int = -1, to_ns: int = -1
) -> Record:
    """The record that numbers `number` .. `number + span - 1` stand for `count` lost records."""
    kind, state = DROPPED.index(what), REASONS.index(reason)
    return Record(number, DROP, 0, 0, kind, state, 0, 0, -1, span, count, from_ns, to_ns)
