"""A run's newest rounds as columns, for figures over all of them; and what was analysed of their communication.

Each page that tells a figure of a run as a whole reads it here, so that it is the same number on all of them.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from django.db import connection

from ingest.detection.facts import Floats, Ints
from ingest.detection.warm_up import warm
from ingest.models import Run
from ingest.queries.fixed_rows import read_columns
from roundwatch.wire import KINDS

# Figures of a run speak of so many newest rounds, and say so: of 100,000 steps all would take a second to read.
MOST_ROUNDS = 5_000
# Of communication, and of what else needs analyses or readings, of fewer: an analysis is some kilobytes.
MOST_ANALYSED = 200

_OF_KINDS = [f"k{place}" for place in range(len(KINDS))]
_SECONDS = ", ".join(f"coalesce((kind_seconds->>{place})::float8, 'NaN')" for place in range(len(KINDS)))
# Walks the unique index (run, index, generation) backwards: a long run costs no more than what is taken of it. The walk
# ends before rounds are told apart: Postgres takes those for few, and would read and sort all of the run to find them.
# Of a replayed round the newest generation counts, also while it is open.
_NEWEST = f"""
SELECT id, index, begin_ns, end_ns, coalesce(coverage, 'NaN'), coalesce(gpu_waiting_share, 'NaN'),
       coalesce(items, 'NaN'), walked, first_index, first_ns, {_SECONDS} FROM (
    SELECT DISTINCT ON (index) id, index, begin_ns, end_ns, closed, coverage, gpu_waiting_share, items, kind_seconds,
           count(*) OVER () AS walked
    FROM (SELECT * FROM ingest_round WHERE run_id = %s ORDER BY index DESC, generation DESC LIMIT %s) AS walk
    ORDER BY index DESC, generation DESC) AS newest
CROSS JOIN (
    SELECT index AS first_index, begin_ns AS first_ns
    FROM ingest_round WHERE run_id = %s ORDER BY index, generation LIMIT 1) AS first
WHERE closed AND end_ns > begin_ns ORDER BY index
"""  # noqa: S608 - ours
_TYPES = (
    dict.fromkeys(("id", "index", "begin_ns", "end_ns"), "int8")
    | dict.fromkeys(("coverage", "waiting", "items"), "float8")
    | dict.fromkeys(("walked", "first_index", "first_ns"), "int8")
    | dict.fromkeys(_OF_KINDS, "float8")
)
_COMMUNICATION = """
SELECT a.content #>> '{communication,comm_share}', a.content #>> '{communication,exposed_share}',
       coalesce(a.content #>> '{communication,abstained}', '')
FROM ingest_analysis a JOIN ingest_round r ON r.id = a.round_id AND r.data_version = a.version
WHERE a.round_id = ANY(%s) ORDER BY r.index DESC
"""


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Closed rounds, oldest first, one element each; NaN where a figure is not known.

    `ids` are those of Round; `begin_ns` and `end_ns` are Unix nanoseconds, `coverage` and `waiting` shares 0..1,
    `items` samples or tokens, `kind_s` (rounds x KINDS) the trainers' mean seconds of each kind. `warm` are those past
    the run's warm-up (detection.warm_up). `cut` says that the run has more rounds than were read.
    """

    ids: Ints
    index: Ints
    begin_ns: Ints
    end_ns: Ints
    coverage: Floats
    waiting: Floats
    items: Floats
    kind_s: Floats
    warm: npt.NDArray[np.bool_]
    cut: bool

    @property
    def wall_s(self) -> Floats:
        """Wall times in seconds."""
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def measured(self) -> "Rounds":
        """Those that figures are of: without warm-up, unless there is nothing else yet."""
        return self.past_warm_up if self.warm.any() else self

    @property
    def past_warm_up(self) -> "Rounds":
        """Those past the run's warm-up."""
        names = ("ids", "index", "begin_ns", "end_ns", "coverage", "waiting", "items", "kind_s", "warm")
        return replace(self, **{name: getattr(self, name)[self.warm] for name in names})


@dataclass(frozen=True, slots=True)
class Communication:
    """Shares of the wall time, 0..1, of those rounds that know them; `abstained` says why the newest does not."""

    comm: list[float]
    exposed: list[float]
    abstained: str


def newest(run: Run) -> Rounds:
    """The run's newest closed rounds, `MOST_ROUNDS` at most; of replayed ones fewer, for each replay counts as one."""
    with connection.cursor() as cursor:
        found = read_columns(cursor, _NEWEST, [run.pk, MOST_ROUNDS, run.pk], _TYPES)
    first = (int(found["first_index"][0]), int(found["first_ns"][0])) if len(found["index"]) else (0, 0)
    index, begin_ns, end_ns = found["index"], found["begin_ns"], found["end_ns"]
    return Rounds(
        ids=found["id"], index=index, begin_ns=begin_ns, end_ns=end_ns, coverage=found["coverage"],
        waiting=found["waiting"], items=found["items"], kind_s=np.stack([found[name] for name in _OF_KINDS], axis=1),
        warm=warm(index, begin_ns, (end_ns - begin_ns) / 1e9, first),
        cut=len(index) > 0 and int(index[0]) > first[0] and int(found["walked"][0]) >= MOST_ROUNDS,
    )  # fmt: skip


def communication(rounds: Rounds) -> Communication:
    """How much of the newest of these rounds transfers between nodes took, as far as they were analysed."""
    with connection.cursor() as cursor:
        cursor.execute(_COMMUNICATION, [rounds.ids[-MOST_ANALYSED:].tolist()])
        told = cursor.fetchall()
    comm, exposed = ([float(one[place]) for one in told if one[place] is not None] for place in (0, 1))
    return Communication(comm, exposed, next((why for _, _, why in told if why), ""))
