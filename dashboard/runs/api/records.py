"""REST: the phases and samples of a run."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router

from dashboard.runs.api.access import run_of
from dashboard.runs.api.paging import Period, Text, answered, numbers
from dashboard.runs.api.shapes import Listed, PhaseShape, SampleShape, number, seconds_between, time_of
from ingest.queries import phases, samples

router = Router(tags=["records"])


class WhichPhases(Period):
    """Phases that began within the time."""

    round: int | None = Field(None, ge=-1, le=(1 << 31) - 1, description="Its index; -1 for outside of any.")
    worker: Text | None = Field(None, description="The worker's whole name.")
    name: Text | None = Field(None, description="The phase's whole name.")


class WhichSamples(Period):
    """Samples read within the time."""

    metric: Text | None = Field(None, description="The metric's whole name.")
    worker: Text | None = Field(None, description="The worker's whole name; a machine's own have none.")


@router.get("/runs/{uuid:run_id}/phases", response=Listed[PhaseShape])
def list_phases(request: HttpRequest, run_id: UUID, which: Query[WhichPhases]) -> dict[str, Any]:
    """The run's ended phases, by begin."""
    wanted = phases.Wanted(
        round=which.round, worker=which.worker, name=which.name, begin_ns=which.begin_ns, end_ns=which.end_ns
    )
    run = run_of(request, run_id)
    return answered(phases.listed(run, wanted, after=numbers(which.cursor, 3), limit=which.limit), _phase)


@router.get("/runs/{uuid:run_id}/samples", response=Listed[SampleShape])
def list_samples(request: HttpRequest, run_id: UUID, which: Query[WhichSamples]) -> dict[str, Any]:
    """The samples of the run's workers, and of their machines while it ran, by time."""
    wanted = samples.Wanted(metric=which.metric, worker=which.worker, begin_ns=which.begin_ns, end_ns=which.end_ns)
    run = run_of(request, run_id)
    return answered(samples.listed(run, wanted, after=numbers(which.cursor, 3), limit=which.limit), _sample)


def _phase(phase: phases.PhaseFigures) -> dict[str, Any]:
    return {
        "worker": phase.worker, "round": phase.round, "name": phase.name, "kind": phase.kind,
        "start": time_of(phase.begin_ns), "end": time_of(phase.end_ns),
        "seconds": seconds_between(phase.begin_ns, phase.end_ns), "state": phase.state, "attrs": phase.attrs,
    }  # fmt: skip


def _sample(sample: samples.SampleFigures) -> dict[str, Any]:
    return {
        "worker": sample.worker or None, "machine": sample.machine, "device": sample.device, "metric": sample.metric,
        "unit": sample.unit, "time": time_of(sample.time_ns), "value": number(sample.value),
    }  # fmt: skip
