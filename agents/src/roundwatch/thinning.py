"""What goes first when the disk or memory is full: samples, then nested phases, then phases and events, then rounds."""

from collections.abc import Callable, Sequence

from roundwatch import slots
from roundwatch.segments import end_of
from roundwatch.slots import Record

# Each level drops what its rule names; a lifecycle record is never dropped.
LEVELS: tuple[Callable[[Record], bool], ...] = (
    lambda record: record.sort == slots.SAMPLE,
    lambda record: record.sort == slots.SAMPLE or (_is_phase(record) and record.parent >= 0),
    lambda record: record.sort in (slots.SAMPLE, slots.EVENT) or _is_phase(record),
    lambda record: record.sort != slots.LIFECYCLE,
)


def thin(records: Sequence[Record], level: Callable[[Record], bool], reason: str) -> list[Record]:
    """The records without those of a level; each run of them becomes one DROP, joined with a DROP before it."""
    kept: list[Record] = []
    for record in records:
        if not level(record):
            kept.append(record)
        elif kept and _joins(kept[-1], record, reason):
            kept[-1] = _joined(kept[-1], record)
        else:
            kept.append(record if record.sort == slots.DROP else _dropped(record, reason))
    return kept


def sort_of(record: Record) -> str:
    """What a dropped record is said to have been."""
    if _is_phase(record):
        return "phase"
    return {slots.SAMPLE: "sample", slots.EVENT: "event", slots.LIFECYCLE: "lifecycle"}.get(record.sort, "any")


def _is_phase(record: Record) -> bool:
    return record.sort in (slots.START, slots.END)


def _dropped(record: Record, reason: str) -> Record:
    # Explicit times are on another clock than the stream's, and bound nothing.
    when = -1 if record.clock else record.t0
    return slots.drop(record.number, span=1, count=1, reason=reason, what=sort_of(record), from_ns=when, to_ns=when)


def _joins(before: Record, record: Record, reason: str) -> bool:
    if before.sort != slots.DROP or end_of(before) != record.number:
        return False
    return before.state == (record.state if record.sort == slots.DROP else slots.REASONS.index(reason))


def _joined(before: Record, record: Record) -> Record:
    more = record if record.sort == slots.DROP else _dropped(record, slots.REASONS[before.state])
    known = [int(time) for time in (before.t0, before.t1, more.t0, more.t1) if time >= 0]
    return before._replace(
        start=before.start + more.start,
        parent=before.parent + more.parent,
        kind=before.kind if before.kind == more.kind else slots.DROPPED.index("any"),
        t0=min(known, default=-1),
        t1=max(known, default=-1),
    )
