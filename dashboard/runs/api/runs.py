"""REST: runs and their workers."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema, Status
from pydantic import ConfigDict, field_validator

from dashboard.runs.api.access import caller, run_of, run_to_change
from dashboard.runs.api.paging import Paging, Period, Text, answered, moment_and_id, numbers
from dashboard.runs.api.shapes import ConditionsShape, Listed, RunShape, WorkerShape, moment, seconds
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from ingest.models import Worker
from ingest.models.runs import RunState
from ingest.queries import conditions, runs
from ingest.store import changes, deletion
from roundwatch import wire

router = Router(tags=["runs"])


class WhichRuns(Period):
    """Runs that started within the time."""

    project: Text | None = Field(None, description="The project's whole name.")
    state: Text | None = Field(None, description=f"One of {', '.join(RunState.values)}.")


class WhoseConditions(Paging):
    """Of one worker, or of all."""

    worker: Text | None = Field(None, description="The worker's whole name.")


class Change(Schema):
    """What people may change of a run; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")
    name: Text = Field("", min_length=1, max_length=wire.MAX_NAME_CHARS)
    tags: list[Text] = Field([], max_length=wire.MAX_TAGS)
    notes: Text = Field("", max_length=20_000)

    @field_validator("tags")
    @classmethod
    def _short_tags(cls, tags: list[str]) -> list[str]:
        if any(not tag.strip() or len(tag) > wire.MAX_NAME_CHARS for tag in tags):
            raise ValueError(f"A tag has 1 to {wire.MAX_NAME_CHARS} characters.")
        return list(dict.fromkeys(tags))


@router.get("/runs", response=Listed[RunShape])
def list_runs(request: HttpRequest, which: Query[WhichRuns]) -> dict[str, Any]:
    """The team's runs, newest first."""
    wanted = runs.Wanted(project=which.project, state=which.state, begin=which.begin, end=which.end)
    found = runs.listed({caller(request).team}, wanted, after=moment_and_id(which.cursor), limit=which.limit)
    return answered(found, shape)


@router.get("/runs/{uuid:run_id}", response=RunShape)
def get_run(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """One run."""
    return shape(runs.figures(run_of(request, run_id)))


@router.patch("/runs/{uuid:run_id}", response=RunShape)
def change_run(request: HttpRequest, run_id: UUID, change: Change) -> dict[str, Any]:
    """Change a run's name, tags or notes."""
    asked = change.model_dump(exclude_unset=True)
    run = changes.change(run_to_change(request, run_id), asked)
    if asked:
        audit(request, run.team_id, Area.RUN, f"changed {', '.join(asked)} of the run “{run.name}” ({run.pk})")
    return shape(runs.figures(run))


@router.delete("/runs/{uuid:run_id}", response={204: None, 202: None})
def delete_run(request: HttpRequest, run_id: UUID) -> Status[None]:
    """Delete a run with all that is known of it: 204 when all of it is gone, 202 while a large one is going."""
    run = run_to_change(request, run_id)
    audit(request, run.team_id, Area.RUN, f"deleted the run “{run.name}” of {run.project} ({run.pk})")
    return Status(204 if deletion.begin(run.pk) else 202, None)


@router.get("/runs/{uuid:run_id}/workers", response=Listed[WorkerShape])
def list_workers(request: HttpRequest, run_id: UUID, paging: Query[Paging]) -> dict[str, Any]:
    """The run's workers in order of arrival."""
    found = runs.workers(run_of(request, run_id), after=numbers(paging.cursor, 1), limit=paging.limit)
    return answered(found, _worker)


@router.get("/runs/{uuid:run_id}/conditions", response=Listed[ConditionsShape])
def list_conditions(request: HttpRequest, run_id: UUID, whose: Query[WhoseConditions]) -> dict[str, Any]:
    """What each attempt of the run's workers said of its hardware and software, by worker and attempt."""
    found = conditions.listed(
        run_of(request, run_id), worker=whose.worker, after=numbers(whose.cursor, 2), limit=whose.limit
    )
    return answered(found, _conditions)


def shape(run: runs.RunFigures) -> dict[str, Any]:
    """A run as it is answered."""
    return {
        "id": str(run.id), "key": run.key, "project": run.project, "name": run.name, "state": run.state,
        "tags": run.tags, "notes": run.notes, "config": run.config, "conditions": run.conditions,
        "rounds_done": run.rounds_done, "rounds_planned": run.rounds_planned, "started_at": moment(run.started_at),
        "ended_at": run.ended_at and moment(run.ended_at),
    }  # fmt: skip


def _worker(worker: Worker) -> dict[str, Any]:
    return {
        "name": worker.name, "role": worker.role, "rank": worker.rank, "group": worker.group,
        "machine": worker.machine, "host": worker.host, "site": worker.site, "state": worker.state,
        "state_reason": worker.state_reason, "attempt": worker.attempt,
        "clock_offset_s": seconds(worker.clock_offset_ns), "clock_error_s": seconds(worker.clock_error_ns),
        "last_seen": moment(worker.last_seen),
    }  # fmt: skip


def _conditions(told: conditions.AttemptConditions) -> dict[str, Any]:
    return {
        "worker": told.worker, "role": told.role, "machine": told.machine, "host": told.host, "attempt": told.attempt,
        "started": moment(told.started_at), "conditions": told.facts,
    }  # fmt: skip
