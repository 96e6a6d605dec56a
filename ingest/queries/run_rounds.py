"""A run's newest rounds as columns, for figures over all of them; and what was analysed of their communication."""

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.db import connection

from ingest.models import Run
from ingest.queries.fixed_rows import read_columns
from roundwatch.wire import KINDS

# Figures of a run speak of so many newest rounds, and say so: of 100,000 steps all would take a second to read.
MOST_ROUNDS = 5_000
# Of communication analyses tell, each some kilobytes.
MOST_ANALYSED = 40
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_OF_KINDS = [f"k{place}" for place in range(len(KINDS))]
_SECONDS = ", ".join(f"coalesce((kind_seconds->>{place})::float8, 'NaN')" for place in range(len(KINDS)))
# Walks the unique index (run, index, generation) backwards: a long run costs no more than what is taken of it. The walk
# ends before rounds are told apart: Postgres takes those for few, and would read and sort all of the run to find them.
# Of a replayed round the newest generation counts, also while it is open.
_NEWEST = f"""
SELECT index, begin_ns, end_ns, coalesce(coverage, 'NaN'), coalesce(gpu_waiting_share, 'NaN'), coalesce(items, 'NaN'),
       walked, {_SECONDS} FROM (
    SELECT DISTINCT ON (index) index, begin_ns, end_ns, closed, coverage, gpu_waiting_share, items, kind_seconds,
           count(*) OVER () AS walked
    FROM (SELECT * FROM ingest_round WHERE run_id = %s ORDER BY index DESC, generation DESC LIMIT %s) AS walk
    ORDER BY index DESC, generation DESC) AS newest
WHERE closed AND end_ns IS NOT NULL ORDER BY index
"""  # noqa: S608 - ours
_TYPES = (
    dict.fromkeys(("index", "begin_ns", "end_ns"), "int8")
    | dict.fromkeys(("coverage", "waiting", "items"), "float8")
    | {"walked": "int8"} | dict.fromkeys(_OF_KINDS, "float8")
)  # fmt: skip
_COMMUNICATION = """
SELECT a.content->'communication' FROM (
    SELECT id, data_version FROM ingest_round WHERE run_id = %s AND closed
    ORDER BY index DESC, generation DESC LIMIT %s) AS r
JOIN ingest_analysis a ON a.round_id = r.id AND a.version = r.data_version
WHERE jsonb_typeof(a.content->'communication') = 'object'
"""


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Closed rounds, oldest first, one element each; NaN where a figure is not known.

    `begin_ns` and `end_ns` are Unix nanoseconds, `coverage` and `waiting` shares 0..1, `items` samples or tokens,
    `kind_s` (rounds x KINDS) the trainers' mean seconds of each kind. `cut` says that the run has more rounds than were
    read.
    """

    index: Ints
    begin_ns: Ints
    end_ns: Ints
    coverage: Floats
    waiting: Floats
    items: Floats
    kind_s: Floats
    cut: bool

    @property
    def wall_s(self) -> Floats:
        """Wall times in seconds."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Communication:
    """Means over the analysed ones of the newest rounds, 0..1, each with the number of rounds that know it."""

    comm_share: float | None
    comm_rounds: int
    exposed_share: float | None
    exposed_rounds: int
    abstained: str


def newest(run: Run) -> Rounds:
    """The run's newest closed rounds, `MOST_ROUNDS` at most; of replayed ones fewer, for each replay counts as one."""
    with connection.cursor() as cursor:
        found = read_columns(cursor, _NEWEST, [run.pk, MOST_ROUNDS], _TYPES)
    first = int(found["index"][0]) if len(found["index"]) else 0
    return Rounds(
        index=found["index"], begin_ns=found["begin_ns"], end_ns=found["end_ns"], coverage=found["coverage"],
        waiting=found["waiting"], items=found["items"], kind_s=np.stack([found[name] for name in _OF_KINDS], axis=1),
        cut=first > 0 and int(found["walked"][0]) >= MOST_ROUNDS,
    )  # fmt: skip


def communication(run: Run) -> Communication:
    """How much of its newest rounds transfers between nodes took, as far as they were analysed."""
    with connection.cursor() as cursor:
        cursor.execute(_COMMUNICATION, [run.pk, MOST_ANALYSED])
        told = [json.loads(row[0]) if isinstance(row[0], str) else row[0] for row in cursor.fetchall()]
    shares = [one["comm_share"] for one in told if one["comm_share"] is not None]
    exposed = [one["exposed_share"] for one in told if one["exposed_share"] is not None]
    why = next((one["abstained"] for one in told if one["abstained"]), "")
    return Communication(_mean(shares), len(shares), _mean(exposed), len(exposed), why)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
