"""The page that connects a run waits for its first record, and leads to that run's live page."""

import pytest
from django.test import Client

from dashboard.teams import tokens
from dashboard.teams.models import Team
from ingest.models import Run, Token
from tests.cast import Cast, browser_of
from tests.ingest import scenarios
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db
FORM = {"name": "hosts", "scopes": ["ingest"]}


def asked(client: Client) -> tuple[int, str]:
    answer = client.get("/connect/arrival/", headers={"HX-Request": "true"})
    return answer.status_code, answer.get("HX-Redirect", "")


def record(team: Team, key: str) -> Run:
    story = Story(team, scenarios.healthy(2, 1), key=key)
    story.tell(0)
    return story.run


def test_the_first_record_after_the_wait_began_leads_to_its_run_once(cast: Cast) -> None:
    record(cast.team, "before")
    client = browser_of(cast.viewer)
    assert asked(client) == (204, "")
    assert b"Waiting for the first record" in client.get("/connect/?wait=1").content
    assert asked(client) == (204, "")
    run = record(cast.team, "after")
    assert asked(client) == (200, f"/runs/{run.pk}/")
    assert asked(client) == (204, "")


def test_a_new_attempt_of_a_known_run_counts_as_well(cast: Cast) -> None:
    record(cast.team, "same")
    client = browser_of(cast.member)
    client.get("/connect/?wait=1")
    run = record(cast.team, "same")
    assert asked(client) == (200, f"/runs/{run.pk}/")


def test_with_a_token_just_made_it_waits_until_that_was_used(cast: Cast) -> None:
    client = browser_of(cast.owner)
    page = client.post("/connect/", FORM)
    assert b"Waiting for the first record" in page.content
    record(cast.team, "with another token")
    assert asked(client) == (204, "")
    Token.objects.filter(name="hosts").update(last_used_at="2026-03-01T12:00:00Z")
    assert asked(client)[0] == 200


def test_another_teams_records_lead_nowhere(cast: Cast) -> None:
    client = browser_of(cast.stranger)
    client.get("/connect/?wait=1")
    record(cast.team, "secret")
    tokens.issue(cast.team, "secret", ["ingest"])
    assert asked(client) == (204, "")


def test_a_wait_for_one_team_is_none_for_another(cast: Cast) -> None:
    client = browser_of(cast.owner)
    client.get("/connect/?wait=1")
    record(cast.team, "of the first")
    session = client.session
    session["waits_for_first_record"] |= {"team": str(cast.other_team.pk)}
    session.save()
    assert asked(client) == (204, "")


def test_a_page_that_waits_for_nothing_asks_for_nothing(cast: Cast) -> None:
    page = browser_of(cast.member).get("/connect/").content
    assert b"hx-get" not in page
    assert b"htmx-2.min.js" not in page
    assert b"/connect/?wait=1" in page


def test_who_is_signed_out_meanwhile_gets_a_reload_and_no_form(cast: Cast) -> None:
    answer = Client().get("/connect/arrival/", headers={"HX-Request": "true"})
    assert answer["HX-Refresh"] == "true"
