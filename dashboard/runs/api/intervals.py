"""REST: what intervals are measured of a run, and changing them."""

from typing import Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Field, Router, Schema, Status
from pydantic import ConfigDict

from dashboard.runs.api.access import run_of, run_to_change
from dashboard.runs.api.errors import Refusal
from dashboard.runs.api.paging import Text
from dashboard.runs.api.shapes import Listed
from dashboard.runs.interval_form import IntervalForm, forget
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from ingest.models import Interval, Run
from ingest.queries import intervals

router = Router(tags=["intervals"])
# The form's fields by those of the body.
_ENDS = {f"{end}_{part}": f"{end}.{part}" for end in ("begin", "end") for part in ("which", "of", "name")}
_FIELDS = {"name": "name", "most_s": "most_s", "of": "scope", **_ENDS}


class BoundaryShape(Schema):
    """An instant of a round: of the first or the last worker that has it."""

    model_config = ConfigDict(extra="forbid")
    which: Literal["first", "last"]
    of: Literal["begin", "end", "event"] = Field(description="Where a phase begins or ends, or an event.")
    name: Text = Field(min_length=1, max_length=128, description="Of the phase or event.")


class Definition(Schema):
    """An interval from one boundary to another; where `most_s` is given its check passes within so many seconds."""

    model_config = ConfigDict(extra="forbid")
    name: Text = Field(min_length=1, max_length=64)
    begin: BoundaryShape
    end: BoundaryShape
    most_s: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False, strict=True)
    scope: Literal["project", "run"] = Field("project", description="Measured in all runs of the project, or this one.")


class DefinitionShape(Definition):
    """The same as it is kept."""

    id: int


@router.get("/runs/{uuid:run_id}/intervals", response=Listed[DefinitionShape])
def list_intervals(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """What the team asks to be measured of a run: its own, which win, and those of its project, by name."""
    return {"items": [_shape(row) for row in intervals.defined(run_of(request, run_id))], "next": None}


@router.post("/runs/{uuid:run_id}/intervals", response={201: DefinitionShape})
def define_interval(request: HttpRequest, run_id: UUID, told: Definition) -> Status[dict[str, Any]]:
    """Define an interval. Earlier rounds are measured when somebody asks for one of them.

    A check is judged anew over the newest window of rounds and up to twenty before it.
    """
    run = run_to_change(request, run_id)
    row = _saved(told, run, Interval())
    audit(request, run.team_id, Area.INTERVAL, f"defined the interval “{row}” of {run.project}")
    return Status(201, _shape(row))


@router.get("/runs/{uuid:run_id}/intervals/{int:interval_id}", response=DefinitionShape)
def get_interval(request: HttpRequest, run_id: UUID, interval_id: int) -> dict[str, Any]:
    """One of them."""
    return _shape(_one(run_of(request, run_id), interval_id))


@router.put("/runs/{uuid:run_id}/intervals/{int:interval_id}", response=DefinitionShape)
def change_interval(request: HttpRequest, run_id: UUID, interval_id: int, told: Definition) -> dict[str, Any]:
    """Define an interval otherwise, from now on and for earlier rounds as with a new one."""
    run = run_to_change(request, run_id)
    row = _saved(told, run, _one(run, interval_id))
    audit(request, run.team_id, Area.INTERVAL, f"changed the interval “{row}” of {run.project}")
    return _shape(row)


@router.delete("/runs/{uuid:run_id}/intervals/{int:interval_id}", response={204: None})
def forget_interval(request: HttpRequest, run_id: UUID, interval_id: int) -> Status[None]:
    """Have it measured no more; what its check found is taken back."""
    run = run_to_change(request, run_id)
    row = _one(run, interval_id)
    forget(row, run)
    audit(request, run.team_id, Area.INTERVAL, f"deleted the interval “{row}” of {run.project}")
    return Status(204, None)


def _one(run: Run, interval_id: int) -> Interval:
    row = intervals.defined_one(run, interval_id)
    if row is None:
        raise Http404
    return row


def _saved(told: Definition, run: Run, row: Interval) -> Interval:
    ends = {f"{end}_{part}": value for end in ("begin", "end") for part, value in getattr(told, end).dict().items()}
    form = IntervalForm({"name": told.name, "most_s": told.most_s, "of": told.scope, **ends}, instance=row, run=run)
    stored = form.stored()
    if stored is None:
        field, errors = next(iter(form.errors.items()))
        raise Refusal(422, str(errors[0]), _FIELDS.get(field))
    return stored


def _shape(row: Interval) -> dict[str, Any]:
    return {
        "id": row.pk, "name": row.name, "most_s": row.most_s, "scope": "project" if row.run_id is None else "run",
        "begin": {"which": row.begin_which, "of": row.begin_of, "name": row.begin_name},
        "end": {"which": row.end_which, "of": row.end_of, "name": row.end_name},
    }  # fmt: skip
