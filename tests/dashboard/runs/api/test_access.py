"""Who may read and change what over REST, and that every refusal is JSON and tells nothing."""

import json
import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.teams import tokens
from ingest.api import auth
from ingest.models import Run, Token
from tests.cast import Cast, browser_of
from tests.ingest import scenarios
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db

PATHS = ["", "/workers", "/rounds", "/rounds/0", "/phases", "/samples", "/findings"]


@pytest.fixture
def run(cast: Cast) -> Run:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()
    return story.run


def with_token(text: str) -> Client:
    return Client(headers={"authorization": f"Bearer {text}"}, enforce_csrf_checks=True)


def scripts(cast: Cast) -> dict[str, Client]:
    """A client for each sort of token of the run's team, and the strangers' with all scopes."""
    made = {scope: with_token(tokens.issue(cast.team, scope, [scope])) for scope in tokens.SCOPES}
    return made | {"stranger": with_token(tokens.issue(cast.other_team, "all", tokens.SCOPES))}


def refused(answer: Any, status: int) -> None:
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("application/json")
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "field"}
    assert error["message"]


def patch(client: Client, run: Run, **headers: str) -> Any:
    return client.patch(f"/api/v1/runs/{run.pk}", json.dumps({"notes": "n"}), "application/json", headers=headers)


def test_every_path_of_another_teams_run_is_as_if_it_were_not_there(cast: Cast, run: Run) -> None:
    stranger, nowhere = scripts(cast)["stranger"], uuid.uuid4()

    for path in PATHS:
        theirs, none = (stranger.get(f"/api/v1/runs/{key}{path}") for key in (run.pk, nowhere))
        refused(theirs, 404)
        assert theirs.content == none.content
    refused(patch(stranger, run), 404)
    refused(stranger.delete(f"/api/v1/runs/{run.pk}"), 404)
    assert stranger.get("/api/v1/runs").json() == {"items": [], "next": None}
    assert stranger.get("/api/v1/findings").json() == {"items": [], "next": None}
    assert Run.objects.get(pk=run.pk).notes == ""


def test_a_session_of_another_team_sees_nothing_either(cast: Cast, run: Run) -> None:
    stranger = browser_of(cast.stranger)

    for path in PATHS:
        refused(stranger.get(f"/api/v1/runs/{run.pk}{path}"), 404)
    refused(patch(stranger, run), 404)


def test_without_a_token_or_session_nothing_is_told(client: Client, run: Run) -> None:
    for path in [*(f"/runs/{run.pk}{path}" for path in PATHS), "/runs", "/findings", f"/runs/{uuid.uuid4()}"]:
        answer = client.get(f"/api/v1{path}")
        refused(answer, 401)
        assert answer["WWW-Authenticate"] == "Bearer"
    refused(patch(client, run), 401)
    refused(client.delete(f"/api/v1/runs/{run.pk}"), 401)


@pytest.mark.parametrize("text", ["", "nonsense", "rw_", "x" * 5000, "é", "a b", "rw_" + "A" * 43])
def test_a_bad_token_is_refused_even_beside_a_good_session(cast: Cast, run: Run, text: str) -> None:
    browser = browser_of(cast.owner)

    assert browser.get("/api/v1/runs").status_code == 200
    refused(browser.get("/api/v1/runs", headers={"authorization": f"Bearer {text}"}), 401)


def test_a_token_reaches_as_far_as_its_scope(cast: Cast, run: Run) -> None:
    client = scripts(cast)

    assert client["read"].get("/api/v1/runs").status_code == 200
    assert client["admin"].get("/api/v1/runs").status_code == 200
    refused(client["ingest"].get("/api/v1/runs"), 403)
    for scope in ("ingest", "read"):
        refused(patch(client[scope], run), 403)
        refused(client[scope].delete(f"/api/v1/runs/{run.pk}"), 403)
    assert patch(client["admin"], run).status_code == 200


def test_a_revoked_or_expired_token_is_refused_once_it_is_forgotten(cast: Cast) -> None:
    for field in ("revoked_at", "expires_at"):
        text = tokens.issue(cast.team, field, ["read"])
        assert with_token(text).get("/api/v1/runs").status_code == 200
        Token.objects.filter(name=field).update(**{field: timezone.now()})
        auth.forget()
        refused(with_token(text).get("/api/v1/runs"), 401)


def test_a_member_may_change_a_viewer_only_look(cast: Cast, run: Run) -> None:
    assert patch(browser_of(cast.member), run).status_code == 200
    refused(patch(browser_of(cast.viewer), run), 403)
    refused(browser_of(cast.viewer).delete(f"/api/v1/runs/{run.pk}"), 403)
    assert browser_of(cast.viewer).get(f"/api/v1/runs/{run.pk}").status_code == 200


def test_a_change_by_session_needs_the_csrf_token_one_by_token_does_not(cast: Cast, run: Run) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.owner)

    refused(patch(browser, run), 403)
    assert browser.get("/api/v1/runs").status_code == 200
    browser.get("/api/v1/docs")  # the page hands one out
    token = browser.cookies["csrftoken"].value
    assert patch(browser, run, **{"X-CSRFToken": token}).status_code == 200
    assert patch(scripts(cast)["admin"], run).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/runs/", "/runs/1", "/runs/not-an-id/rounds", "/runs//rounds", "/alerts/x", "/../v1/x"]
)
def test_unknown_paths_answer_json(cast: Cast, path: str) -> None:
    refused(scripts(cast)["read"].get(f"/api/v1{path}"), 404)
    refused(Client().get(f"/api/v1{path}"), 404)


def test_a_method_that_a_path_does_not_have_is_refused_in_json(cast: Cast, run: Run) -> None:
    script = scripts(cast)["admin"]

    for method, path in (("POST", "/runs"), ("PUT", f"/runs/{run.pk}"), ("DELETE", f"/runs/{run.pk}/rounds")):
        answer = script.generic(method, f"/api/v1{path}")
        refused(answer, 405)
        assert "GET" in answer["Allow"]


def test_rounds_that_are_not_there_are_not_found(cast: Cast, run: Run) -> None:
    for index in ("1", "2147483647", "2147483648", "9" * 30):
        refused(scripts(cast)["read"].get(f"/api/v1/runs/{run.pk}/rounds/{index}"), 404)
    refused(scripts(cast)["read"].get(f"/api/v1/runs/{run.pk}/rounds/0?generation=1"), 404)
