"""The thread stacks that were taken of a phase's process, as far as its agent sent what makes sense."""

import time
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.backends.utils import CursorWrapper

from ingest.models import PhaseName, Run, Stream
from ingest.queries.live_phase import Row, phase_row
from roundwatch.wire import KIND_NUMBER

EVENT = "stacks"
_LATE_NS = 60 * 10**9  # how long after the end of a phase its stacks may have been taken, by clocks that are corrected
Frame = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Thread:
    """`frames` are (file, line, function), innermost first; `more` are those beyond them."""

    name: str
    frames: list[Frame]
    more: int


@dataclass(frozen=True, slots=True)
class Stacks:
    """One answer of a process; `number` tells it from others, `failed` says why there are no threads, "" if there are.

    `left_out` counts threads beyond those listed, `only_main` says that the others could not be asked; `time_ns` is
    Unix time on the server's clock.
    """

    number: int
    time_ns: int
    threads: list[Thread]
    left_out: int
    only_main: bool
    failed: str


@dataclass(frozen=True, slots=True)
class StackState:
    """A phase as one who asks for stacks needs to know it; `heard_ns` is when its worker was last heard of."""

    stream: int
    open: bool
    begin_ns: int
    heard_ns: int
    stacks: Stacks | None


def stack_state(cursor: CursorWrapper, run: Run, attempt: int, start: int) -> StackState | None:
    """The newest stacks of the phase `start` of attempt `attempt` (Stream.index); None where there is no such phase."""
    stream = Stream.objects.filter(run=run, index=attempt, worker__isnull=False).first()
    row = None if stream is None else phase_row(cursor, run, stream, start)
    if stream is None or row is None:
        return None
    return StackState(
        stream=stream.pk,
        open=row["state"] == "open" and stream.ended_at is None,
        begin_ns=row["begin_ns"],
        heard_ns=int(stream.heard_at.timestamp() * 1e9),
        stacks=_newest(cursor, run, stream, row, start),
    )


def _newest(cursor: CursorWrapper, run: Run, stream: Stream, row: Row, start: int) -> Stacks | None:
    named = PhaseName.objects.filter(run=run, name=EVENT, kind=KIND_NUMBER["other"]).first()
    if named is None:  # never asked for in this run
        return None
    cursor.execute(
        """SELECT number, time_ns, attrs FROM ingest_event
           WHERE run_id = %s AND time_ns BETWEEN %s AND %s AND stream_id = %s AND name_index = %s
             AND attrs->'start' = to_jsonb(%s::int8) AND arrived BETWEEN %s AND %s
           ORDER BY time_ns DESC, number DESC LIMIT 1""",
        [run.pk, row["begin_ns"] - _LATE_NS, (row["end_ns"] or time.time_ns()) + _LATE_NS, stream.pk, named.index,
         start, run.first_day, run.last_day],
    )  # fmt: skip
    found = cursor.fetchone()
    return found and _stacks(found[0], found[1], msgspec.json.decode(found[2]))


def _stacks(number: int, time_ns: int, attrs: dict[str, Any]) -> Stacks:
    """An event's attributes, which may be anybody's: what does not make sense is left out."""
    threads = attrs.get("threads")
    failed = attrs.get("failed")
    listed = [found for each in threads if (found := _thread(each))] if isinstance(threads, list) else []
    if not listed and not isinstance(failed, str):
        failed = "what it sent cannot be read"
    return Stacks(
        number=number,
        time_ns=time_ns,
        threads=listed,
        left_out=_count(attrs.get("left_out")),
        only_main=attrs.get("only_main") is True,
        failed="" if listed else str(failed),
    )


def _thread(said: Any) -> Thread | None:
    if not isinstance(said, dict) or not isinstance(said.get("frames"), list):
        return None
    frames = [found for each in said["frames"] if (found := _frame(each))]
    return Thread(str(said.get("name", "")), frames, _count(said.get("more")))


def _frame(said: Any) -> Frame | None:
    if not isinstance(said, list) or len(said) != 3:
        return None
    return str(said[0]), _count(said[1]), str(said[2])


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 31 else 0
