"""How a run stands: who was heard and what is open, what has changed of names, rounds and findings."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from django.db.backends.utils import CursorWrapper
from django.db.models import Max

from ingest.feed import messages
from ingest.feed.messages import Beat, Entry, unix_ns
from ingest.models import Finding, PhaseName, Round, Run, Series, Stream, Worker
from ingest.models.multiranges import parse
from ingest.queries.live import STREAMS_OF_RUN, streams_of

Ranges = list[tuple[int, int]]
RoundKey = tuple[int, int]  # index, generation

_ENDED = ("finished", "failed", "killed")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A worker's stream as the live view sees it; `over` says that nothing more is awaited of it.

    A phase that ends after record `beat.number` began with record `lowest_start` or later.
    """

    stream: int
    beat: Beat
    over: bool
    lowest_start: int


def attempts(cursor: CursorWrapper, run: Run) -> list[Attempt]:
    """Every attempt of the run with its open phases, by index."""
    cursor.execute(
        """SELECT s.id, s.index, w.index, s.attempt = w.attempt, w.state, s.end_state, s.ended_at, s.opens,
                  s.opens_number, s.heard_at, s.error_ns
           FROM ingest_stream s JOIN ingest_worker w ON w.id = s.worker_id WHERE s.run_id = %s ORDER BY s.index""",
        [run.pk],
    )
    names = _phase_indices(run)
    return [_attempt(row, names) for row in cursor.fetchall()]


def _attempt(row: tuple[Any, ...], names: dict[tuple[str, int], int]) -> Attempt:
    stream, index, lane, newest, state, end_state, ended_at, opens, number, heard_at, error_ns = row
    # An older life of a worker that never said how it ended was lost: a newer one has taken its place.
    shown = state if newest else (end_state if end_state in _ENDED else "lost")
    listed = msgspec.json.decode(opens)
    beat = Beat(
        heard_ns=unix_ns(heard_at) or 0,
        number=number,
        error_ns=error_ns,
        lane=lane,
        attempt=index,
        state=shown,
        opens=_opens(listed, names),
    )
    lowest = min((phase["start"] for phase in listed), default=number + 1)
    return Attempt(stream, beat, over=ended_at is not None or shown in _ENDED, lowest_start=min(lowest, number + 1))


def _opens(listed: list[Entry], names: dict[tuple[str, int], int]) -> list[Entry]:
    """Open phases with the number of their name; one whose name is not stored yet comes with the next reading."""
    found = ((phase, phase.get("phase", names.get((phase["name"], phase["kind"])))) for phase in listed)
    return [phase | {"phase": index} for phase, index in found if index is not None]


def _phase_indices(run: Run) -> dict[tuple[str, int], int]:
    rows = PhaseName.objects.filter(run=run).values_list("name", "kind", "index")
    return {(name, kind): index for name, kind, index in rows}


def stored_numbers(cursor: CursorWrapper, run: Run) -> dict[int, Ranges]:
    """By Stream.id the numbers stored, of the run's streams and its machines'."""
    cursor.execute(
        f"""SELECT id, numbers::text FROM ingest_stream WHERE id IN (SELECT id FROM ({STREAMS_OF_RUN}) AS s)""",  # noqa: S608 - ours
        streams_of(run),
    )
    return {stream: [(low, end - 1) for low, end in parse(text)] for stream, text in cursor.fetchall()}


def meta_version(cursor: CursorWrapper, run: Run) -> tuple[Any, ...]:
    """Something that differs whenever `meta_entries` would."""
    cursor.execute(
        f"""WITH streams AS ({STREAMS_OF_RUN})
            SELECT (SELECT md5(string_agg(concat_ws('|', index, name, role, rank, "group", machine, host, site, state,
                                                    state_reason, attempt), ',' ORDER BY index))
                    FROM ingest_worker WHERE run_id = %s),
                   (SELECT count(*) FROM ingest_phasename WHERE run_id = %s),
                   (SELECT array[count(*), sum(dropped_count), sum(rejected_count)]
                    FROM ingest_stream WHERE run_id = %s),
                   (SELECT array[count(*), max(c.id)] FROM ingest_series c JOIN streams s ON s.id = c.stream_id)""",  # noqa: S608 - ours
        [*streams_of(run), run.pk, run.pk, run.pk],
    )
    return (*messages.run_entry(run).values(), *(_hashable(value) for value in cursor.fetchone()))


def _hashable(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def meta_entries(cursor: CursorWrapper, run: Run) -> dict[str, Any]:
    """Everything that META can say of the run."""
    cursor.execute(STREAMS_OF_RUN, streams_of(run))
    streams = [stream for stream, _ in cursor.fetchall()]
    own = list(Stream.objects.filter(run=run, worker__isnull=False).select_related("worker").order_by("index"))
    series = Series.objects.filter(stream__in=streams).select_related("worker", "stream__worker").order_by("id")
    lanes = Worker.objects.filter(run=run).order_by("index")
    return {
        "run": messages.run_entry(run),
        "lanes": [messages.lane_entry(worker) for worker in lanes],
        "attempts": [messages.attempt_entry(stream, stream.worker.index) for stream in own if stream.worker],
        "phases": [messages.phase_entry(name) for name in PhaseName.objects.filter(run=run).order_by("index")],
        "series": [_series_entry(each) for each in series],
        "dropped": sum(stream.dropped_count for stream in own),
        "rejected": sum(stream.rejected_count for stream in own),
    }


def _series_entry(series: Series) -> Entry:
    worker = series.worker or series.stream.worker
    machine = series.stream.machine or (worker.machine if worker else "")
    return messages.series_entry(series, worker.index if worker else None, machine)


@dataclass(frozen=True, slots=True)
class RoundVersion:
    """What tells one look of a round from another."""

    data: int
    verdict: int
    closed: bool
    end_ns: int | None
    superseded: bool


def round_versions(cursor: CursorWrapper, run: Run, newest: int) -> dict[RoundKey, RoundVersion]:
    """Of the run's `newest` latest rounds, by index and generation."""
    cursor.execute(
        """SELECT index, generation, data_version, verdict_version, closed, end_ns,
                  EXISTS (SELECT FROM ingest_round n WHERE n.run_id = r.run_id AND n.index = r.index
                                                       AND n.generation > r.generation)
           FROM ingest_round r WHERE run_id = %s ORDER BY begin_ns DESC LIMIT %s""",
        [run.pk, newest],
    )
    return {(index, generation): RoundVersion(*rest) for index, generation, *rest in cursor.fetchall()}


def steps(run: Run, rounds: Iterable[Round]) -> bytes:
    """A STEP frame of these rounds; empty bytes for none."""
    known = list(rounds)
    repeated = (
        Round.objects.filter(run=run, generation__gt=0, index__in={each.index for each in known})
        .values_list("index")
        .annotate(newest=Max("generation"))
    )
    return messages.steps(known, dict(repeated))


def rounds_at(run: Run, keys: Collection[RoundKey]) -> list[Round]:
    """The rounds with these indices and generations."""
    found = Round.objects.filter(run=run, index__in={index for index, _ in keys})
    return [each for each in found if (each.index, each.generation) in keys]


def newest_rounds(run: Run, limit: int) -> list[Round]:
    """The run's latest rounds of every generation, oldest first."""
    return list(Round.objects.filter(run=run).order_by("-begin_ns")[:limit])[::-1]


def finding_versions(run: Run, limit: int) -> dict[UUID, int]:
    """The version of each finding of the run, of those that changed last."""
    rows = Finding.objects.filter(run=run).order_by("-updated_at").values_list("id", "version")
    return dict(rows[:limit])


def findings_with(run: Run, ids: Collection[UUID]) -> list[Finding]:
    """The run's findings with these ids, oldest first."""
    return list(Finding.objects.filter(run=run, id__in=ids).order_by("opened_at"))


def newest_findings(run: Run, limit: int) -> list[Finding]:
    """The run's findings that changed last, oldest first."""
    return list(Finding.objects.filter(run=run).order_by("-updated_at")[:limit])[::-1]
