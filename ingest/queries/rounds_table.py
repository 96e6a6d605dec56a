"""A long table of a run's rounds, a page at a time, by number or by wall time: no page costs more than another."""

import datetime as dt
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection

from ingest.detection import finding_kinds
from ingest.models import Run
from ingest.queries.pages import Page, Place, page

_FINDINGS_OF_ROUND = 3


class Order(StrEnum):
    """By what the table is sorted."""

    NEWEST = "newest"
    OLDEST = "oldest"
    SLOWEST = "slowest"
    FASTEST = "fastest"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a critical path; a gap is before `phase`."""

    worker: str
    phase: str
    seconds: float
    gap: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRow:
    """A round of the newest generation of its number; times in Unix nanoseconds, shares 0..1, None where not known.

    `longest` is the longest piece of its critical path, `findings` what was found in it above info, in a few words.
    """

    index: int
    generation: int
    begin_ns: int
    end_ns: int | None
    closed: bool
    coverage: float | None
    waiting_share: float | None
    kind_seconds: list[float] | None
    longest: Piece | None
    findings: list[str]

    @property
    def begun(self) -> dt.datetime:
        """When it began."""
        return dt.datetime.fromtimestamp(self.begin_ns / 1e9, dt.UTC)

    @property
    def wall_s(self) -> float | None:
        """Its wall time in seconds, None while it is open."""
        return (self.end_ns - self.begin_ns) / 1e9 if self.closed and self.end_ns is not None else None


# By number the unique index (run, index, generation) is walked, by wall time that on (run, wall, index). The newest
# generation of a round stands for it, also while that is open.
_BY_NUMBER = """
SELECT DISTINCT ON (index) id, index FROM ingest_round
WHERE run_id = %(run)s AND index {beyond} %(index)s ORDER BY index {way}, generation DESC LIMIT %(limit)s
"""
_BY_WALL = """
SELECT id, index FROM ingest_round r
WHERE run_id = %(run)s AND closed AND end_ns IS NOT NULL
  AND ((end_ns - begin_ns), index) {beyond} (%(wall)s::bigint, %(index)s)
  AND NOT EXISTS (SELECT FROM ingest_round n WHERE n.run_id = r.run_id AND n.index = r.index
                                               AND n.generation > r.generation)
ORDER BY (end_ns - begin_ns) {way}, index {way} LIMIT %(limit)s
"""
_ROWS = """
SELECT r.index, r.generation, r.begin_ns, r.end_ns, r.closed, r.coverage, r.gpu_waiting_share, r.kind_seconds::text,
       longest.piece::text
FROM ingest_round r
LEFT JOIN ingest_analysis a ON a.round_id = r.id AND a.version = r.data_version
LEFT JOIN LATERAL (
    SELECT piece FROM jsonb_array_elements(a.content->'path') AS piece
    ORDER BY (piece->>'end_ns')::int8 - (piece->>'begin_ns')::int8 DESC LIMIT 1) AS longest ON true
WHERE r.id = ANY(%s)
"""
_FOUND = """
SELECT part::int, f.kind, f.phase FROM ingest_finding f CROSS JOIN LATERAL jsonb_array_elements_text(f.rounds) AS part
WHERE f.run_id = %s AND f.severity <> 'info' AND part::int = ANY(%s) ORDER BY f.opened_at
"""
_BEYOND_ALL = {Order.NEWEST: (0, (1 << 31) - 1), Order.SLOWEST: (1 << 62, (1 << 31) - 1)}
_BEFORE_ALL = (-(1 << 62), -1)


def table(run: Run, order: Order, *, after: Place | None, limit: int) -> Page[RoundRow]:
    """A page of rounds; those that are open stand only in tables by number. `after` is (wall in ns, index)."""
    wall, index = after or _BEYOND_ALL.get(order, _BEFORE_ALL)
    down = order in _BEYOND_ALL
    sql = (_BY_NUMBER if order in (Order.NEWEST, Order.OLDEST) else _BY_WALL).format(
        beyond="<" if down else ">", way="DESC" if down else "ASC"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, {"run": run.pk, "wall": wall, "index": index, "limit": limit + 1})
        ids = cursor.fetchall()
        cursor.execute(_ROWS, [[key for key, _ in ids[:limit]]])
        rows = {row[0]: row for row in cursor.fetchall()}
        cursor.execute(_FOUND, [run.pk, [index for _, index in ids[:limit]]])
        found: dict[int, list[str]] = {}
        for number, kind, phase in cursor.fetchall():
            found.setdefault(number, []).append(finding_kinds.headline(kind, phase))
    shown = page(ids, limit, lambda row: _row(rows[row[1]], found), lambda row: row)
    last = shown.items[-1] if shown.items else None
    return Page(shown.items, None if shown.next is None or last is None else _place(last))


def _place(row: RoundRow) -> Place:
    return (0 if row.end_ns is None else row.end_ns - row.begin_ns), row.index


def _row(row: tuple[Any, ...], found: dict[int, list[str]]) -> RoundRow:
    index, generation, begin_ns, end_ns, closed, coverage, waiting, kinds, piece = row
    return RoundRow(
        index=index, generation=generation, begin_ns=begin_ns, end_ns=end_ns, closed=closed, coverage=coverage,
        waiting_share=waiting, kind_seconds=json.loads(kinds) if kinds else None,
        longest=_longest(json.loads(piece)) if piece else None,
        findings=list(dict.fromkeys(found.get(index, [])))[:_FINDINGS_OF_ROUND],
    )  # fmt: skip


def _longest(piece: dict[str, Any]) -> Piece:
    return Piece(piece["worker"], piece["phase"], (piece["end_ns"] - piece["begin_ns"]) / 1e9, piece["gap"])
