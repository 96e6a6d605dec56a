"""REST: findings of a run, and of the team."""

from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Query, Router

from dashboard.runs.api.access import caller, run_of
from dashboard.runs.api.paging import Period, Text, answered, moment_and_id
from dashboard.runs.api.shapes import FindingShape, Listed, moment
from ingest.models import Finding
from ingest.queries import findings

router = Router(tags=["findings"])


class WhichFindings(Period):
    """Findings that were opened within the time."""

    state: Literal["open", "resolved"] | None = Field(None, description="Both if left out.")
    kind: Text | None = Field(None, description="As findings say it: straggler, for example.")


@router.get("/findings", response=Listed[FindingShape])
def list_findings(request: HttpRequest, which: Query[WhichFindings]) -> dict[str, Any]:
    """The findings of all the team's runs, newest first."""
    return _listed(caller(request).team, None, which)


@router.get("/runs/{uuid:run_id}/findings", response=Listed[FindingShape])
def list_findings_of_run(request: HttpRequest, run_id: UUID, which: Query[WhichFindings]) -> dict[str, Any]:
    """The findings of a run, newest first."""
    run = run_of(request, run_id)
    return _listed(run.team_id, run.pk, which)


def _listed(team: UUID, run: UUID | None, which: WhichFindings) -> dict[str, Any]:
    wanted = findings.Wanted(run=run, state=which.state, kind=which.kind, begin=which.begin, end=which.end)
    return answered(findings.listed({team}, wanted, after=moment_and_id(which.cursor), limit=which.limit), _shape)


def _shape(finding: Finding) -> dict[str, Any]:
    return {
        "id": str(finding.pk), "run": str(finding.run_id), "kind": finding.kind, "state": finding.state,
        "severity": finding.severity, "observed": finding.observed, "hypothesis": finding.hypothesis,
        "workers": finding.workers, "rounds": finding.rounds, "phase": finding.phase, "evidence": finding.evidence,
        "opened_at": moment(finding.opened_at), "resolved_at": finding.resolved_at and moment(finding.resolved_at),
    }  # fmt: skip
