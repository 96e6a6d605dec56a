"""REST: the rounds of a run."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema

from dashboard.runs.api import analyses
from dashboard.runs.api.access import run_of
from dashboard.runs.api.paging import Period, answered, numbers
from dashboard.runs.api.shapes import Listed, RoundShape, seconds_between, time_of
from ingest.models import Round
from ingest.queries import intervals, rounds
from roundwatch.wire import KINDS

router = Router(tags=["rounds"])
_MOST = (1 << 31) - 1


class WhichGeneration(Schema):
    """A restart that replays a round makes a new generation of it; the newest counts."""

    generation: int | None = Field(None, ge=0, le=_MOST, description="Counted from 0; the newest if left out.")


@router.get("/runs/{uuid:run_id}/rounds", response=Listed[RoundShape])
def list_rounds(request: HttpRequest, run_id: UUID, period: Query[Period]) -> dict[str, Any]:
    """The run's rounds that began within the time, in all their generations."""
    run = run_of(request, run_id)
    found = rounds.listed(
        run, begin_ns=period.begin_ns, end_ns=period.end_ns, after=numbers(period.cursor, 2),
        limit=period.limit,
    )  # fmt: skip
    stamp = intervals.asked(run).stamp
    return answered(found, lambda row: _shape(row) | analyses.shape(row, stamp))


@router.get("/runs/{uuid:run_id}/rounds/{int:index}", response=RoundShape)
def get_round(request: HttpRequest, run_id: UUID, index: int, which: Query[WhichGeneration]) -> dict[str, Any]:
    """One round, in its newest generation unless another is asked for."""
    run = run_of(request, run_id)
    row = rounds.one(run, index, which.generation) if index <= _MOST else None
    if row is None:
        raise Http404
    return _shape(row) | analyses.shape_now(row, intervals.asked(run).stamp)


def _shape(row: Round) -> dict[str, Any]:
    ended_ns = row.end_ns if row.closed else None
    return {
        "index": row.index, "generation": row.generation, "start": time_of(row.begin_ns),
        "end": None if ended_ns is None else time_of(ended_ns),
        "wall_s": None if ended_ns is None else seconds_between(row.begin_ns, ended_ns),
        "closed": row.closed, "trainers": row.trainers, "coverage": row.coverage,
        "gpu_waiting_share": row.gpu_waiting_share,
        "kind_seconds": row.kind_seconds and dict(zip(KINDS, row.kind_seconds, strict=True)),
        "judged": row.judged,
    }  # fmt: skip
