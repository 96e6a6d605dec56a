"""One step of a run, taken apart rank by rank, with who made the others wait in its collectives."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

from ingest.detection.anatomy import Anatomy, Call, anatomy
from ingest.detection.collectives import NAMES, Verdict, verdict
from ingest.detection.facts import Worker
from ingest.models import Round, Run
from ingest.queries.judging_spans import parts_of, spans_of

# Whatever a training wrote as the number of a collective, equal texts are equal numbers.
_CALLS = """
SELECT s.index, p.start_number,
       coalesce(left(p.attrs->>'process_group', 128), ''), coalesce(left(p.attrs->>'seq', 128), '')
FROM ingest_phase p JOIN ingest_stream s ON s.id = p.stream_id JOIN ingest_phasename n
     ON n.run_id = p.run_id AND n.index = p.name_index
WHERE p.run_id = %s AND p.round = %s AND n.name = ANY(%s) AND p.attrs IS NOT NULL
"""
_RANKS = """
SELECT w.index, w.name, w.machine, w.host, coalesce(w."group", '')
FROM ingest_worker w WHERE w.run_id = %s AND w.role = 'trainer' AND w.index = ANY(%s)
ORDER BY w."group" NULLS FIRST, w.rank NULLS LAST, w.index
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepAnatomy:
    """A round of the run by rank and phase, and for each cohort its ranks (positions) with the verdict on them.

    `end_ns` is None while the round is open; until then, what has not ended is not in it.
    """

    index: int
    generation: int
    begin_ns: int
    end_ns: int | None
    parts: Anatomy
    verdicts: list[tuple[list[int], Verdict | None]]


def step_anatomy(cursor: CursorWrapper, run: Run, index: int) -> StepAnatomy | None:
    """The anatomy of round `index` in its newest generation; None where there is no such round."""
    row = Round.objects.filter(run=run, index=index).order_by("-generation").first()
    if row is None:
        return None
    taken = parts_of(cursor, [row.pk])
    lanes = taken["lane"][taken["trainer"] == 1]
    ranks = _ranks(cursor, run, sorted(set(lanes.tolist())))
    spans = spans_of(cursor, run.pk, taken, {row.pk: index})
    parts = anatomy(spans, ranks, _said(cursor, run, index))
    end_ns = row.end_ns if row.closed else None
    last_ns = end_ns or max(spans.end_ns.tolist(), default=row.begin_ns)
    judged = parts.steps((last_ns - row.begin_ns) / 1e9)
    return StepAnatomy(
        index=index, generation=row.generation, begin_ns=row.begin_ns, end_ns=end_ns, parts=parts,
        verdicts=[(rows.tolist(), verdict(step)) for rows, step in judged],
    )  # fmt: skip


def _ranks(cursor: CursorWrapper, run: Run, lanes: Sequence[int]) -> list[Worker]:
    cursor.execute(_RANKS, [run.pk, list(lanes)])
    fields = ("lane", "name", "machine", "host", "group")
    return [Worker(**dict(zip(fields, row, strict=True))) for row in cursor.fetchall()]


def _said(cursor: CursorWrapper, run: Run, index: int) -> dict[tuple[int, int], Call]:
    cursor.execute(_CALLS, [run.pk, index, sorted(NAMES)])
    return {(attempt, start): (group, seq) for attempt, start, group, seq in cursor.fetchall()}
