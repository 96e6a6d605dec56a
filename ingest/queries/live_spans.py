"""The newest ended phases of a run as the live view draws them: all of a window of time, as columns."""

from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.backends.utils import CursorWrapper

from ingest.feed.messages import Spans
from ingest.models import Run
from ingest.queries.fixed_rows import read_columns
from ingest.queries.live import Window

# How long before a window a phase that reaches into it may have begun, where no round says so.
_REACH_NS = 3_600 * 10**9

# Workers and streams are looked up afterwards: a join cost more than all the rest for each phase that is read.
_NEWEST = """
SELECT begin_ns, end_ns, start_number, parent, round, worker_id, stream_id, name_index, state, thread
FROM ingest_phase
WHERE run_id = %s AND arrived BETWEEN %s AND %s AND begin_ns BETWEEN %s AND %s AND end_ns >= %s
ORDER BY begin_ns DESC LIMIT %s
"""
_TYPES = dict.fromkeys(("begin_ns", "end_ns", "start_number", "parent"), "int8") | {
    "round": "int4", "lane": "int8", "attempt": "int8", "phase": "int4", "state": "int4", "thread": "int4"
}  # fmt: skip


def spans(cursor: CursorWrapper, run: Run, window: Window, limit: int) -> Spans:
    """The run's ended phases that touch the window, at most the newest `limit`, oldest first."""
    earliest_ns = _earliest_begin(cursor, run, window)
    # Of a run younger than its table's statistics the planner expects a handful of phases, and would read and sort all
    # of them for the newest; in order of the index it reads no more than it returns.
    cursor.execute("SET LOCAL enable_sort = off")
    columns = read_columns(
        cursor,
        _NEWEST,
        [run.pk, run.first_day, run.last_day, earliest_ns, window.to_ns, window.from_ns, limit],
        _TYPES,
    )
    cursor.execute("SET LOCAL enable_sort = on")
    lanes, lane_known = _indices(cursor, "ingest_worker", run, columns["lane"])
    attempts, attempt_known = _indices(cursor, "ingest_stream", run, columns["attempt"])
    whole = lane_known & attempt_known
    named = columns | {"lane": lanes, "attempt": attempts}
    return Spans(**{name: column[whole][::-1] for name, column in named.items()})


def first_begin_ns(cursor: CursorWrapper, run: Run) -> int | None:
    """When the first of the run's ended phases begins, Unix ns; None without any."""
    cursor.execute(
        "SELECT min(begin_ns) FROM ingest_phase WHERE run_id = %s AND arrived BETWEEN %s AND %s",
        [run.pk, run.first_day, run.last_day],
    )
    begin_ns: int | None = cursor.fetchone()[0]
    return begin_ns


def _indices(
    cursor: CursorWrapper, table: str, run: Run, keys: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """`index` of each key among the run's rows of the table, and whether there is one."""
    cursor.execute(f"SELECT id, index FROM {table} WHERE run_id = %s ORDER BY id", [run.pk])  # noqa: S608 - our own word
    rows = np.array([(-1, 0), *cursor.fetchall()], np.int64)
    places = np.searchsorted(rows[:, 0], keys, side="right") - 1
    return rows[places, 1], rows[places, 0] == keys


def _earliest_begin(cursor: CursorWrapper, run: Run, window: Window) -> int:
    """Where to look for phases that reach into the window: from the rounds that do, at least an hour before."""
    cursor.execute(
        """SELECT min(begin_ns) FROM (
               SELECT begin_ns, end_ns FROM ingest_round WHERE run_id = %s AND begin_ns <= %s
               ORDER BY begin_ns DESC LIMIT 64) AS before
           WHERE end_ns IS NULL OR end_ns >= %s""",
        [run.pk, window.from_ns, window.from_ns],
    )
    begin_ns: int | None = cursor.fetchone()[0]
    return min(window.from_ns if begin_ns is None else begin_ns, max(window.from_ns - _REACH_NS, 0))
