"""What runs are compared by: figures of their last rounds and of the analyses of these."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection

from ingest.detection.facts import Floats
from ingest.models import Run
from ingest.queries import intervals, run_rounds
from ingest.queries.run_rounds import MOST_ANALYSED

# Of an analysis only what is compared: its path alone is some kilobytes.
_ANALYSES = """
SELECT a.content #>> '{communication,comm_share}', a.content #>> '{communication,exposed_share}',
       coalesce(a.content ->> 'asked', ''), (
           SELECT jsonb_agg(jsonb_build_array(one -> 'name', one -> 'between', one -> 'most_s', one -> 'passed',
                                              (one ->> 'end_ns')::bigint - (one ->> 'begin_ns')::bigint))
           FROM jsonb_array_elements(a.content -> 'intervals') AS one WHERE one ->> 'abstained' = '')::text
FROM ingest_analysis a JOIN ingest_round r ON r.id = a.round_id AND r.data_version = a.version
WHERE a.round_id = ANY(%s) ORDER BY r.index
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """An interval over rounds: its seconds, and how many checks were passed of those that were `judged`."""

    name: str
    between: str
    most_s: float | None
    seconds: list[float]
    passed: int
    judged: int


@dataclass(frozen=True, slots=True)
class RunRounds:
    """A run's last closed rounds, warm-up left out, oldest first; shares are of the round, only those that are known.

    `indexes`, `seconds` and `ids` (Round.id) go together. `warm_up` is how many rounds were left out for it.
    """

    run: Run
    ids: list[int]
    indexes: list[int]
    begins_ns: list[int]
    ends_ns: list[int]
    seconds: list[float]
    waiting: list[float]
    coverage: list[float]
    warm_up: int


@dataclass(frozen=True, slots=True)
class Analysed:
    """What analyses say of the newest `rounds` of a run: shares where they have a meaning, intervals by definition."""

    rounds: int
    comm: list[float]
    exposed: list[float]
    intervals: dict[tuple[str, str], Measured]


def rounds_of(run: Run) -> RunRounds:
    """The figures of the run's newest rounds, `run_rounds.MOST_ROUNDS` at most."""
    read = run_rounds.newest(run)
    rounds = read.past_warm_up
    return RunRounds(
        run=run, ids=rounds.ids.tolist(), indexes=rounds.index.tolist(), begins_ns=rounds.begin_ns.tolist(),
        ends_ns=rounds.end_ns.tolist(), seconds=rounds.wall_s.tolist(), waiting=_known(rounds.waiting),
        coverage=_known(rounds.coverage), warm_up=len(read.ids) - len(rounds.ids),
    )  # fmt: skip


def _known(values: Floats) -> list[float]:
    found: list[float] = values[~np.isnan(values)].tolist()
    return found


def analysed(known: RunRounds) -> Analysed:
    """What the analyses of its newest rounds say; intervals as they are asked for now."""
    stamp = intervals.asked(known.run).stamp
    with connection.cursor() as cursor:
        cursor.execute(_ANALYSES, [known.ids[-MOST_ANALYSED:]])
        rows = cursor.fetchall()
    found: dict[tuple[str, str], Measured] = {}
    for _, _, asked, told in rows:
        for one in _decoded(told) if asked == stamp else []:
            _add(found, one)
    comm, exposed = ([float(row[place]) for row in rows if row[place] is not None] for place in (0, 1))
    return Analysed(len(rows), comm, exposed, found)


def _decoded(told: str | None) -> list[Any]:
    found: list[Any] = json.loads(told) if told else []
    return found


def _add(found: dict[tuple[str, str], Measured], told: Sequence[Any]) -> None:
    name, between, most_s, passed, length_ns = told
    before = found.get((name, between))
    seconds = [*before.seconds, length_ns / 1e9] if before else [length_ns / 1e9]
    was_passed, was_judged = (before.passed, before.judged) if before else (0, 0)
    found[name, between] = Measured(
        name, between, most_s, seconds, was_passed + (passed is True), was_judged + (passed is not None)
    )


def typical(known: RunRounds) -> int:
    """The newest round that is nearest to the median one."""
    middle = float(np.median(known.seconds))
    _, index = min((math.fabs(took - middle), -index) for took, index in zip(known.seconds, known.indexes, strict=True))
    return -index
