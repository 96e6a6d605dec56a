"""REST: the thresholds of detection, as a team has set them for all its runs, and as they are for one of them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Router, Schema

from dashboard.runs.api.access import caller, run_of
from dashboard.runs.api.shapes import Listed
from ingest.detection.thresholds import BY_KEY, Threshold
from ingest.queries import thresholds

router = Router(tags=["thresholds"])


class ThresholdShape(Schema):
    """A number by which it is decided whether something is found; all values are in `unit`."""

    key: str = Field(description="Subject and name: straggler.ratio, for example.")
    name: str
    meaning: str
    unit: str
    kinds: list[str] = Field(description="The kinds of findings that it decides.")
    default: float
    least: float
    most: float
    whole: bool = Field(description="Whether it is a number of things.")
    team: float | None = Field(description="What the team has set for all its runs.")
    run: float | None = Field(description="What is set for this run alone; null in the list of the team.")
    value: float = Field(description="What is judged by: the run's, else the team's, else the default.")


@router.get("/thresholds", response=Listed[ThresholdShape])
def list_thresholds(request: HttpRequest) -> dict[str, Any]:
    """By which thresholds the team's runs are judged, unless one has its own."""
    return _listed(thresholds.set_for(caller(request).team, None), {})


@router.get("/runs/{uuid:run_id}/thresholds", response=Listed[ThresholdShape])
def list_run_thresholds(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """By which thresholds a run is judged."""
    run = run_of(request, run_id)
    return _listed(thresholds.set_for(run.team_id, None), thresholds.set_for(run.team_id, run.pk))


def _listed(team: Mapping[str, float], run: Mapping[str, float]) -> dict[str, Any]:
    return {"items": [_shape(one, team.get(key), run.get(key)) for key, one in BY_KEY.items()], "next": None}


def _shape(one: Threshold, team: float | None, run: float | None) -> dict[str, Any]:
    # What no threshold allows any more does not count; see detection.thresholds.of.
    counting = (value for value in (run, team) if value is not None and one.allows(value))
    return {
        "key": one.key, "name": one.name, "meaning": one.meaning, "unit": one.unit, "kinds": list(one.kinds),
        "default": one.usual, "least": one.least, "most": one.most, "whole": one.whole, "team": team, "run": run,
        "value": next(counting, one.usual),
    }  # fmt: skip
