"""Spans of rounds as detection's columns, each told by an attempt's part in its round."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import numpy as np
from django.db.backends.utils import CursorWrapper

from ingest.detection.columns import numbered
from ingest.detection.facts import Spans, Worker
from ingest.models import PhaseName
from ingest.queries.fixed_rows import Columns, read_columns

# What attributes say in numbers; training code may write anything there.
_AMOUNT = """coalesce(CASE WHEN jsonb_typeof(p.attrs->'{0}') = 'number'
    THEN CASE WHEN (p.attrs->'{0}')::numeric BETWEEN 0 AND 1e18 THEN (p.attrs->'{0}')::float8 END END, 'NaN')"""
# Joined with the parts of rounds here and not in the database, whose planner knows nothing yet of a run that is new.
_SPANS = f"""
SELECT p.stream_id, p.worker_id, p.start_number, p.parent, p.thread::int8, p.name_index::int8, p.kind::int8,
       p.round::int8, p.begin_ns, p.end_ns, coalesce(p.error_ns, -1),
       CASE WHEN p.attrs ? 'after' THEN coalesce((
           SELECT min(n.index) FROM ingest_phasename n WHERE n.run_id = p.run_id AND n.name = p.attrs->>'after'
       ), -1) ELSE -1 END::int8, {_AMOUNT.format("items")}, {_AMOUNT.format("nbytes")}
FROM ingest_phase p WHERE p.run_id = %s AND p.round BETWEEN %s AND %s
"""  # noqa: S608 - only names of our own are put in
_SPAN_TYPES = {
    **dict.fromkeys(
        ("stream", "worker", "start", "parent", "thread", "name", "kind", "round", "begin_ns", "end_ns", "error_ns",
         "after"), "int8",
    ),
    "items": "float8",
    "nbytes": "float8",
}  # fmt: skip
_PARTS = """
SELECT part.round_id, part.stream_id, part.worker_id, part.begin_ns, s.index::int8, w.index::int8,
       (w.role = 'trainer')::int::int8
FROM ingest_workerround part
JOIN ingest_stream s ON s.id = part.stream_id JOIN ingest_worker w ON w.id = part.worker_id
WHERE part.round_id = ANY(%s)
"""
_PART_TYPES = dict.fromkeys(("round_id", "stream", "worker", "begin_ns", "attempt", "lane", "trainer"), "int8")


def parts_of(cursor: CursorWrapper, rounds: Sequence[int]) -> Columns:
    """The parts of these rounds (Round.id): round_id, stream, worker, begin_ns, attempt, lane, trainer (0 or 1)."""
    return read_columns(cursor, _PARTS, [list(rounds)], _PART_TYPES)


def begun_in(parts: Columns) -> dict[int, dict[int, tuple[int, int]]]:
    """For each round the attempts that took part: {attempt: (lane, its begin)}."""
    found: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    columns = (parts[name].tolist() for name in ("round_id", "attempt", "lane", "begin_ns"))
    for round_id, attempt, lane, begin_ns in zip(*columns, strict=True):
        # An attempt that also speaks for others (a replay) has one entry for each of them.
        found[round_id][attempt << 32 | lane] = (lane, begin_ns)
    return found


def spans_of(cursor: CursorWrapper, run_id: UUID, parts: Columns, index_of: dict[int, int]) -> Spans:
    """The spans of these rounds (Round.id: its index), each told by a part of its round in that generation."""
    least, most = min(index_of.values(), default=0), max(index_of.values(), default=-1)
    columns = read_columns(cursor, _SPANS, [run_id, least, most], _SPAN_TYPES)
    told = np.array([index_of.get(round_id, -2) for round_id in parts["round_id"].tolist()], np.int64)
    number, _ = numbered(
        np.concatenate([told, columns["round"]]),
        np.concatenate([parts["stream"], columns.pop("stream")]),
        np.concatenate([parts["worker"], columns.pop("worker")]),
    )
    place = np.full(len(number) + 1, -1, np.int64)
    place[number[: len(told)]] = np.arange(len(told))
    part = place[number[len(told) :]]
    kept = {name: column[part >= 0] for name, column in columns.items()}
    part = part[part >= 0]
    return _named(run_id, kept | {"lane": parts["lane"][part], "attempt": parts["attempt"][part]})


def _named(run_id: UUID, columns: Columns) -> Spans:
    """A name that has several kinds has as many indices; to detection it is one name."""
    names = dict(PhaseName.objects.filter(run_id=run_id).values_list("index", "name"))
    distinct = tuple(dict.fromkeys(names.values()))
    place = {name: at for at, name in enumerate(distinct)}
    table = np.full(max(names, default=-1) + 2, -1, np.int64)
    for index, name in names.items():
        table[index] = place[name]
    return Spans(**columns | {"name": table[columns["name"]], "after": table[columns["after"]]}, names=distinct)


def workers_of(cursor: CursorWrapper, run_id: UUID) -> tuple[Worker, ...]:
    """The workers of the run by lane, as detection knows them."""
    cursor.execute(
        """SELECT w.index, w.name, w.role, w.machine, w.host, coalesce(w."group", ''), coalesce(w.site, ''),
                  coalesce((SELECT regexp_replace(c.facts->>'devices', '[0-9]+ x ', '', 'g')
                            FROM ingest_stream s JOIN ingest_conditions c ON c.stream_id = s.id
                            WHERE s.worker_id = w.id ORDER BY s.attempt DESC LIMIT 1), '')
           FROM ingest_worker w WHERE w.run_id = %s ORDER BY w.index""",
        [run_id],
    )
    fields = ("lane", "name", "role", "machine", "host", "group", "site", "device")
    return tuple(Worker(**dict(zip(fields, row, strict=True))) for row in cursor.fetchall())
