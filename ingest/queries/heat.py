"""How long each worker spent in one phase, round by round: what a heat map is drawn from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.db.backends.utils import CursorWrapper

from ingest.detection.columns import numbered
from ingest.models import Finding, PhaseName, Round, Run
from ingest.models.findings import Severity
from ingest.queries.fixed_rows import read_columns
from ingest.queries.judging_spans import parts_of, workers_of
from ingest.queries.rounds import analysis_of, one
from roundwatch.wire import KINDS

MOST_ROUNDS = 200
_MOST_CELLS = 400_000
# Phases of any name that one map reads past: a second or two of the database.
_MOST_PHASES = 2_000_000
_NAMED = """
SELECT n.name, min(n.kind), sum(p.seconds), sum(p.times)
FROM (SELECT name_index, sum(end_ns - begin_ns) / 1e9 AS seconds, count(*) AS times FROM ingest_phase
      WHERE run_id = %s AND round = %s AND arrived BETWEEN %s AND %s GROUP BY name_index) p
JOIN ingest_phasename n ON n.run_id = %s AND n.index = p.name_index
GROUP BY n.name ORDER BY 3 DESC, 1
"""
_SECONDS = """
SELECT stream_id, worker_id, round::int8, sum(end_ns - begin_ns)::int8
FROM ingest_phase
WHERE run_id = %s AND round BETWEEN %s AND %s AND name_index = ANY(%s) AND arrived BETWEEN %s AND %s
GROUP BY stream_id, worker_id, round
"""
_TYPES = dict.fromkeys(("stream", "worker", "round", "ns"), "int8")
# What nobody looks for first: whoever computes takes its time, and who waits does so for another.
_LAST = {KINDS.index("compute"), KINDS.index("wait")}


@dataclass(frozen=True, slots=True)
class Named:
    """The phases of a run's newest closed rounds, those with most time first; `usual` is the one to look at first.

    That is the phase of the newest finding above info, else what GPUs waited for longest in the newest of these rounds,
    where that is known, else the first in which nobody computes or waits.
    """

    names: list[str]
    usual: str
    phases_a_round: int


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """Seconds by worker (rows, in order of arrival) and round (columns); NaN where a worker has no such phase.

    Who has it in none of them is left out. Each round is in its newest closed generation; `earlier` and `later` say
    whether there are others.
    """

    phase: str
    workers: list[str]
    rounds: list[int]
    seconds: npt.NDArray[np.float32]
    earlier: bool
    later: bool


def named(cursor: CursorWrapper, run: Run, until: int | None = None) -> Named:
    """The phases of the newest closed round up to `until`, the one before it where that has none."""
    found: list[tuple[str, int, float, int]] = []
    waited = ""
    for index in _closed(run, until, 2):
        waited = waited or _waited_for(run, index)
        cursor.execute(_NAMED, [run.pk, index, run.first_day, run.last_day, run.pk])
        found = cursor.fetchall()
        if found:
            break
    usual = next((name for name, kind, *_ in found if kind not in _LAST), found[0][0] if found else "")
    names = {row[0] for row in found}
    usual = (_found_in(run) if found else "") or (waited if waited in names else usual)
    return Named([row[0] for row in found], usual, int(sum(row[3] for row in found)))


def heat(cursor: CursorWrapper, run: Run, phase: str, until: int | None = None) -> Heat:
    """The map of a phase in the last rounds up to `until`, the newest if None; fewer of a run of very many workers."""
    known = named(cursor, run, until)
    phase = phase or known.usual
    most = max(1, min(MOST_ROUNDS, _MOST_PHASES // max(1, known.phases_a_round)))
    rounds = _closed(run, until, most)
    newest = Round.objects.filter(run=run, closed=True, index__in=rounds).order_by("generation")
    index_of = {row.pk: row.index for row in {row.index: row for row in newest}.values()}
    parts = parts_of(cursor, list(index_of))
    lanes = np.unique(parts["lane"])
    rounds = sorted(index_of.values())[-max(1, _MOST_CELLS // max(1, len(lanes))) :]
    seconds = np.full((len(lanes), len(rounds)), np.nan, np.float32)
    names = list(PhaseName.objects.filter(run=run, name=phase).values_list("index", flat=True))
    if names and rounds:
        told = read_columns(
            cursor, _SECONDS, [run.pk, rounds[0], rounds[-1], names, run.first_day, run.last_day], _TYPES
        )
        of_round = np.array([index_of[key] for key in parts["round_id"].tolist()], np.int64)
        part = _part_of(told, parts, of_round)
        kept = np.flatnonzero((part >= 0) & np.isin(told["round"], rounds))
        rows = np.searchsorted(lanes, parts["lane"][part[kept]])
        columns = np.searchsorted(np.array(rounds), told["round"][kept])
        # A worker whose process was restarted within a round has two parts in it.
        sums = np.zeros(seconds.shape)
        np.add.at(sums, (rows, columns), told["ns"][kept] / 1e9)
        seconds[rows, columns] = sums[rows, columns]
    has = ~np.isnan(seconds).all(axis=1)
    workers = {worker.lane: worker.name for worker in workers_of(cursor, run.pk)}
    return Heat(
        phase=phase, workers=[workers.get(lane, "") for lane in lanes[has].tolist()], rounds=rounds,
        seconds=seconds[has],
        earlier=bool(rounds) and Round.objects.filter(run=run, closed=True, index__lt=rounds[0]).exists(),
        later=bool(rounds) and Round.objects.filter(run=run, closed=True, index__gt=rounds[-1]).exists(),
    )  # fmt: skip


def _found_in(run: Run) -> str:
    """The phase of the newest finding above info, "" for none that this run has."""
    told = Finding.objects.filter(run=run, phase__in=PhaseName.objects.filter(run=run).values("name"))
    newest = told.exclude(severity=Severity.INFO).order_by("-opened_at", "-updated_at")
    return newest.values_list("phase", flat=True).first() or ""


def _waited_for(run: Run, index: int) -> str:
    """The phase that GPUs waited for longest in a round; "" where that is a gap or not computed."""
    row = one(run, index, None)
    found = analysis_of(row) if row is not None else None
    sums: dict[str, int] = {}
    for share in found["waiting"] if found else []:
        name = "" if share["gap"] else share["phase"]
        sums[name] = sums.get(name, 0) + share["own_ns"] + share["others_ns"]
    return max(sums, key=lambda name: sums[name], default="")


def _closed(run: Run, until: int | None, most: int) -> list[int]:
    """The newest closed rounds, newest first."""
    rows = Round.objects.filter(run=run, closed=True)
    if until is not None:
        rows = rows.filter(index__lte=min(until, (1 << 31) - 1))
    return list(rows.order_by("-index").values_list("index", flat=True).distinct()[:most])


def _part_of(
    told: dict[str, npt.NDArray[np.int64]], parts: dict[str, npt.NDArray[np.int64]], of_round: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """For each row of `told` the place of its part of the round, -1 where it is of an older generation."""
    number, _ = numbered(
        np.concatenate([of_round, told["round"]]),
        np.concatenate([parts["stream"], told["stream"]]),
        np.concatenate([parts["worker"], told["worker"]]),
    )
    place = np.full(len(number) + 1, -1, np.int64)
    place[number[: len(of_round)]] = np.arange(len(of_round))
    return place[number[len(of_round) :]]
