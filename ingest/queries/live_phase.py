"""One phase with everything known of it: what its bar in the live view opens."""

import time
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.backends.utils import CursorWrapper

from ingest.feed.messages import Entry, finding_entry
from ingest.models import Finding, PhaseName, Run, Stream, Worker
from ingest.queries.live_readings import Readings, readings
from roundwatch.wire import KINDS, PHASE_STATES

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Peers:
    """The same phase of the same round on other workers of that role; seconds are sums over its occurrences there.

    `ratio` is own over `median_s`, the lower median of the others, as detection compares them, None where that is 0.
    """

    count: int
    own_s: float
    fastest_s: float
    median_s: float
    slowest_s: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class PhaseDetail:
    """A phase, closed or open. Times are Unix ns on the server's clock; `end_ns` is None and `state` "open" while open.

    `clock_error_ns` bounds how far off this worker's clock may be, None where nothing does; `parent` is the start
    number of the phase around it and its name, as far as that is known.
    """

    worker: Worker
    attempt: int
    attempt_number: int
    start: int
    name: str
    kind: str
    round: int
    thread: int
    parent: int | None
    parent_name: str | None
    begin_ns: int
    end_ns: int | None
    state: str
    progress: float | None
    clock_offset_ns: int
    clock_error_ns: int | None
    attrs: dict[str, Any]
    peers: Peers | None
    findings: list[Entry]
    readings: Readings


def phase_detail(cursor: CursorWrapper, run: Run, attempt: int, start: int) -> PhaseDetail | None:
    """The phase of attempt `attempt` (Stream.index) that began with record `start`; None where there is none."""
    stream = Stream.objects.filter(run=run, index=attempt, worker__isnull=False).select_related("worker").first()
    if stream is None or stream.worker is None:
        return None
    row = phase_row(cursor, run, stream, start)
    if row is None:
        return None
    named = PhaseName.objects.filter(run=run, index=row["name_index"]).first()
    parent = phase_row(cursor, run, stream, row["parent"])
    around = parent and PhaseName.objects.filter(run=run, index=parent["name_index"]).first()
    worker = Worker.objects.get(pk=row["worker_id"])
    return PhaseDetail(
        worker=worker,
        attempt=attempt,
        attempt_number=stream.attempt,
        start=start,
        name=named.name if named else "",
        kind=KINDS[named.kind] if named else "other",
        round=row["round"],
        thread=row["thread"],
        parent=row["parent"] if row["parent"] >= 0 else None,
        parent_name=around.name if around else None,
        begin_ns=row["begin_ns"],
        end_ns=row["end_ns"],
        state=row["state"],
        progress=row["progress"],
        clock_offset_ns=row["offset_ns"],
        clock_error_ns=row["error_ns"],
        attrs=row["attrs"],
        peers=_peers(cursor, run, row["name_index"], row["round"], worker),
        findings=[finding_entry(each) for each in _findings(run, attempt, start)],
        readings=readings(
            cursor, run, stream, worker, begin_ns=row["begin_ns"], end_ns=row["end_ns"] or time.time_ns()
        ),
    )


_FIELDS = ("worker_id", "name_index", "round", "thread", "parent", "begin_ns", "end_ns", "offset_ns", "error_ns")


def phase_row(cursor: CursorWrapper, run: Run, stream: Stream, start: int) -> Row | None:
    """What is stored of the phase `start` of a stream: `state` is "open" and `end_ns` None of one that is open."""
    return _closed(cursor, run, stream, start) or _open(run, stream, start)


def _closed(cursor: CursorWrapper, run: Run, stream: Stream, start: int) -> Row | None:
    cursor.execute(
        f"""SELECT {", ".join(_FIELDS)}, state, attrs FROM ingest_phase
            WHERE stream_id = %s AND start_number = %s AND arrived BETWEEN %s AND %s""",  # noqa: S608 - our own names
        [stream.pk, start, run.first_day, run.last_day],
    )
    found = cursor.fetchone()
    if found is None:
        return None
    *fields, state, attrs = found
    said = {"state": PHASE_STATES[state], "progress": None, "attrs": msgspec.json.decode(attrs or "{}")}
    return dict(zip(_FIELDS, fields, strict=True)) | said


def _open(run: Run, stream: Stream, start: int) -> Row | None:
    phase: dict[str, Any] | None = next((each for each in stream.opens if each["start"] == start), None)
    if phase is None:
        return None
    named = PhaseName.objects.filter(run=run, name=phase["name"], kind=phase["kind"]).first()
    said = {"worker_id": stream.worker_id, "name_index": named.index if named else -1, "end_ns": None}
    clock = {"offset_ns": stream.offset_ns, "error_ns": stream.error_ns}
    return phase | said | clock | {"state": "open", "attrs": {}}


def _findings(run: Run, attempt: int, start: int) -> list[Finding]:
    marked = Finding.objects.filter(run=run, spans__contains=[[attempt, start]]).order_by("-opened_at")
    return [each for each in marked if any(span[:2] == [attempt, start] for span in each.spans)]


def _peers(cursor: CursorWrapper, run: Run, name_index: int, round_index: int, worker: Worker) -> Peers | None:
    """How long the others took; of a worker with several attempts at this round the newest counts."""
    if round_index < 0:
        return None
    cursor.execute(
        """SELECT DISTINCT ON (p.worker_id) p.worker_id, sum(p.end_ns - p.begin_ns)::int8
           FROM ingest_phase p JOIN ingest_stream s ON s.id = p.stream_id JOIN ingest_worker w ON w.id = p.worker_id
           WHERE p.run_id = %s AND p.round = %s AND p.name_index = %s AND p.arrived BETWEEN %s AND %s AND w.role = %s
           GROUP BY p.worker_id, s.index ORDER BY p.worker_id, s.index DESC""",
        [run.pk, round_index, name_index, run.first_day, run.last_day, worker.role],
    )
    seconds = {worker_id: spent_ns / 1e9 for worker_id, spent_ns in cursor.fetchall()}
    own = seconds.pop(worker.pk, None)
    others = sorted(seconds.values())
    if own is None or not others:
        return None
    median = others[(len(others) - 1) // 2]
    return Peers(len(others), own, others[0], median, others[-1], own / median if median else None)
