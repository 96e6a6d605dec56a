"""Alerts over REST: read, filtered, changed; nobody else's."""

import json
from typing import Any

import pytest
from django.test import Client

from dashboard.alerts.models import Alert
from dashboard.alerts.tasks import tell
from dashboard.teams import tokens
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.telling import SLOW, judged, slow_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def alert(cast: Cast) -> Alert:
    judged(slow_run(cast.team), SLOW)
    tell()
    return Alert.objects.get()


def script(cast: Cast, scope: str) -> Client:
    return Client(headers={"authorization": f"Bearer {tokens.issue(cast.team, scope, [scope])}"})


def items(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200
    return list(answer.json()["items"])


def patch(client: Client, alert: Alert, do: str) -> Any:
    return client.patch(f"/api/v1/alerts/{alert.pk}", json.dumps({"do": do}), "application/json")


def test_a_team_reads_its_alerts_and_nobody_else_does(cast: Cast, alert: Alert) -> None:
    (told,) = items(script(cast, "read").get("/api/v1/alerts"))
    assert told["id"] == str(alert.pk)
    assert told["observed"] == SLOW.observed
    assert told["cost"] == {"seconds": 15.9, "gpu_seconds": 238.5}
    assert told["opened_at"] == "2026-03-01T12:00:00.000000Z"
    stranger = browser_of(cast.stranger)
    assert items(stranger.get("/api/v1/alerts")) == []
    assert stranger.get(f"/api/v1/alerts/{alert.pk}").status_code == 404


@pytest.mark.parametrize(
    ("query", "count"),
    [("state=open", 1), ("state=resolved", 0), ("kind=straggler", 1), ("kind=x", 0), ("project=vit-pets", 1),
     ("to=2026-01-01T00:00:00Z", 0), ("from=2026-03-01T12:00:00Z", 1)],
)  # fmt: skip
def test_alerts_are_filtered(cast: Cast, alert: Alert, query: str, count: int) -> None:
    assert len(items(script(cast, "read").get(f"/api/v1/alerts?{query}"))) == count


def test_pages_of_alerts_go_on_where_they_stopped(cast: Cast, alert: Alert) -> None:
    judged(slow_run(cast.team), SLOW)
    tell()
    client = script(cast, "read")
    first = client.get("/api/v1/alerts?limit=1").json()
    second = client.get(f"/api/v1/alerts?limit=1&cursor={first['next']}").json()
    assert {first["items"][0]["id"], second["items"][0]["id"]} == {
        str(pk) for pk in Alert.objects.values_list("pk", flat=True)
    }
    assert second["next"] is None


def test_a_script_that_may_change_changes_and_others_do_not(cast: Cast, alert: Alert) -> None:
    assert patch(script(cast, "read"), alert, "resolve").status_code == 403
    assert patch(browser_of(cast.viewer), alert, "resolve").status_code == 403
    assert patch(browser_of(cast.stranger), alert, "resolve").status_code == 404
    assert patch(script(cast, "admin"), alert, "explode").status_code == 422
    assert Alert.objects.get().state == "open"
    assert patch(script(cast, "admin"), alert, "acknowledge").json()["state"] == "acknowledged"
    told = patch(browser_of(cast.member), alert, "silence").json()
    assert (told["state"], told["changed_by"]) == ("silenced", "mika")
