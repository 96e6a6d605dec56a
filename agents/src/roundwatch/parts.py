"""The parts of a step as one record: how they lie behind its slot, and the phases that a shipper makes of them.

A step record is the end of a phase that `other` phases within it precede, which nobody has written before. Its text is
a word with the number of entries, the entries, and the step's own attributes as JSON. An entry is three 64-bit words,
whose first says in its highest byte what the two others are:

| entry | first word | second | third |
| --- | --- | --- | --- |
| PART | the head of a phase's end, and whether it ran on the device | begin | end |
| WHERE | | thread and round of the parts that follow, as in a slot | 1 where the step is around them, else 0 |
| COLLECTIVE, of the part before it | the name of its process group, 0 for none | `seq` | |
| TRAVEL, of the part before it | | `comm_s`, in nanoseconds | `overlap_s`, in nanoseconds |
| MEMORY, of the step | | `device_memory_peak_bytes` | `device_memory_reserved_bytes` |

The second half of the text's first word is 0 in a ring; a shipper that has told of the first entries while the step
went on (see `telling`) notes there how many they were.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roundwatch import slots
from roundwatch.slots import SORT_SHIFT, THREAD_BITS, THREAD_MASK, Record

PART, WHERE, COLLECTIVE, TRAVEL, MEMORY = slots.END, 16, 17, 18, 19
DEVICE = 1 << slots.OTHER_SHIFT
ENTRY = struct.Struct("<3q")
COUNT = struct.Struct("<2I")  # entries, how many of them are told already
Names = Mapping[int, tuple[str, ...]]


@dataclass(slots=True)
class Part:
    """A part of a step; `at` is its place among the entries, `where` None where it is the step's own."""

    at: int
    head: int
    where: int | None
    within: bool
    begin_ns: int
    end_ns: int
    attrs: dict[str, Any] = field(default_factory=dict)


def parts_in(entries: bytes, names: Names) -> tuple[list[Part], dict[str, Any]]:
    """The parts that entries tell of, and attributes of the step itself. Raises struct.error for half an entry."""
    found: list[Part] = []
    where, within, of_step = None, True, {}
    for at, (tag, first, second) in enumerate(ENTRY.iter_unpack(entries)):
        sort = tag >> SORT_SHIFT
        if sort == PART:
            attrs = {"device": True} if tag & DEVICE else {}
            found.append(Part(at, tag, where, within, first, second, attrs))
        elif sort == WHERE:
            where, within = first, second == 1
        elif sort == MEMORY:
            of_step = {"device_memory_peak_bytes": first, "device_memory_reserved_bytes": second}
        elif sort == COLLECTIVE and found:
            group = names.get(tag & 0xFFFF)
            found[-1].attrs |= {"process_group": group[0], "seq": first} if group else {"seq": first}
        elif sort == TRAVEL and found:
            found[-1].attrs |= {"comm_s": first / 1e9, "overlap_s": second / 1e9}
    return found, of_step


def phase_of(part: Part, step: Record, number: int) -> Record:
    """A part as the end of a phase with this number; `step` is the record of the step's start or end."""
    where = step.round << THREAD_BITS | step.thread if part.where is None else part.where
    text = json.dumps(part.attrs).encode() if part.attrs else b""
    return Record(
        *(number, slots.END, part.head & 0xFFFF, 0, part.head >> slots.KIND_SHIFT & 0xFF, 0, 0),
        *(where & THREAD_MASK, where >> THREAD_BITS, number, step.start if part.within else -1),
        *(part.begin_ns, max(part.end_ns - part.begin_ns, 0), text),
    )


def expanded(record: Record, names: Names) -> list[Record]:
    """A step record as the records that it stands for, in the order of their numbers: its parts, then its end.

    Parts of which nothing can be read any more are a DROP. Any other record is itself.
    """
    if record.sort != slots.STEP:
        return [record]
    before = record.inserted - record.other
    try:
        count, told = COUNT.unpack_from(record.text)
        parts, attrs = parts_in(record.text[COUNT.size : COUNT.size + count * ENTRY.size], names)
        own = json.loads(record.text[COUNT.size + count * ENTRY.size :] or b"{}")
        text = json.dumps(own | attrs).encode() if own or attrs else b""
        found = [
            phase_of(part, record, record.number + at)._replace(inserted=before + at)
            for at, part in enumerate(part for part in parts if part.at >= told)
        ]
    except (struct.error, ValueError, TypeError):
        found, text = [], record.text
    if len(found) != record.other:
        found = [_lost(record)] if record.other else []
    return [*found, record._replace(number=record.number + record.other, sort=slots.END, other=0, text=text)]


def without(record: Record, told: int) -> Record:
    """A step record less what was told while the step went on: its first `told` entries."""
    try:
        count, _ = COUNT.unpack_from(record.text)
        parts, _ = parts_in(record.text[COUNT.size : COUNT.size + told * ENTRY.size], {})
    except struct.error:
        return record
    left = max(record.other - len(parts), 0)
    return record._replace(other=left, text=COUNT.pack(count, told) + record.text[COUNT.size :])


def _lost(record: Record) -> Record:
    """The DROP for a step's parts. Its text lay where there was no room for it, or is damaged."""
    reason = "damaged" if record.text else "ring full"
    span, end = record.other, record.t0 + int(record.t1)
    drop = slots.drop(record.number, span=span, count=span, reason=reason, what="phase", from_ns=record.t0, to_ns=end)
    return drop._replace(inserted=record.inserted - 1)
