"""Thresholds over REST: what is set for the team and for a run, and what is judged by in the end."""

from typing import Any

import pytest
from django.test import Client

from dashboard.teams import tokens
from ingest.detection.thresholds import BY_KEY
from ingest.models import Run, ThresholdChange
from ingest.store import thresholds as store
from tests.cast import Cast
from tests.dashboard.runs_of import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(cast.team)


def asked(cast: Cast, path: str, scope: str = "read", *, foreign: bool = False) -> Any:
    token = tokens.issue(cast.other_team if foreign else cast.team, "script", [scope])
    return Client(headers={"authorization": f"Bearer {token}"}).get(f"/api/v1{path}")


def listed(cast: Cast, path: str, *, foreign: bool = False) -> dict[str, dict[str, Any]]:
    answer = asked(cast, path, foreign=foreign)
    assert answer.status_code == 200, answer.content
    assert answer.json()["next"] is None
    return {one["key"]: one for one in answer.json()["items"]}


def told(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["default"], one["team"], one["run"], one["value"]


def test_a_runs_value_counts_before_its_teams_and_that_before_the_default(cast: Cast, run: Run) -> None:
    store.change(cast.team.pk, None, {"straggler.ratio": 2.0, "straggler.floor_share": 3.0}, None)
    store.change(cast.team.pk, run, {"straggler.ratio": 4.0, "slow_phase.lost_s": 60.0}, None)
    team, own = listed(cast, "/thresholds"), listed(cast, f"/runs/{run.pk}/thresholds")
    assert list(team) == list(own) == list(BY_KEY)
    assert [told(each["straggler.ratio"]) for each in (team, own)] == [(1.5, 2.0, None, 2.0), (1.5, 2.0, 4.0, 4.0)]
    assert told(own["straggler.floor_share"]) == (5.0, 3.0, None, 3.0)
    lost = [told(each["slow_phase.lost_s"]) for each in (team, own)]
    assert lost == [(15.0, None, None, 15.0), (15.0, None, 60.0, 60.0)]
    assert team["straggler.clean_rounds"]["whole"]
    assert team["straggler.ratio"]["kinds"] == ["straggler"]


def test_what_no_threshold_allows_any_more_is_shown_and_does_not_count(cast: Cast, run: Run) -> None:
    store.change(cast.team.pk, None, {"straggler.ratio": 2.0}, None)
    ThresholdChange.objects.update(value=1000.0)
    assert told(listed(cast, f"/runs/{run.pk}/thresholds")["straggler.ratio"]) == (1.5, 1000.0, None, 1.5)


def test_another_team_sees_its_own_alone_and_a_token_that_may_not_read_nothing(cast: Cast, run: Run) -> None:
    store.change(cast.team.pk, None, {"straggler.ratio": 2.0}, None)
    assert told(listed(cast, "/thresholds", foreign=True)["straggler.ratio"]) == (1.5, None, None, 1.5)
    assert asked(cast, f"/runs/{run.pk}/thresholds", foreign=True).status_code == 404
    assert asked(cast, "/thresholds", "ingest").status_code == 403
