"""News before Django: to whom Django has answered lately, of the team that it was asked of, and of nobody else's."""

import asyncio
import http.client
import json
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from dashboard.alerts import hearers
from dashboard.alerts.models import Alert
from dashboard.alerts.recent import FRESH_S, Recent
from dashboard.alerts.tasks import tell
from dashboard.teams.models import User
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.telling import SLOW, judged, slow_run
from tests.ingest.playing import eventually


def asked(web: str, session: str, team: str) -> tuple[int, bool, Any]:
    """Status, whether Django answered, and what was said."""
    server = http.client.HTTPConnection(urlsplit(web).netloc, timeout=30)
    try:
        server.request("GET", f"/alerts/news/?team={team}", headers={"Cookie": f"theme=dark; sessionid={session}"})
        answer = server.getresponse()
        text = answer.read()
        assert answer.status != 200 or "no-store" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        said = json.loads(text) if answer.headers["Content-Type"] == "application/json" else None
        return answer.status, "X-Frame-Options" in answer.headers, said
    finally:
        server.close()


def session_of(user: User) -> str:
    return str(browser_of(user).cookies["sessionid"].value)


def test_who_was_let_in_is_answered_before_django_and_hears_what_opens(web: str, people: Cast) -> None:
    session, team = session_of(people.viewer), people.team.slug
    assert asked(web, session, team)[:2] == (200, True)
    # What another test had opened may be told for a moment.
    eventually(lambda: asked(web, session, team)[2]["opened"] == [])
    assert asked(web, session, team)[:2] == (200, False)
    judged(slow_run(people.team), SLOW)
    tell()
    eventually(lambda: asked(web, session, team)[2]["opened"])
    _, by_django, said = asked(web, session, team)
    (one,) = said["opened"]
    assert not by_django
    assert one["title"] == "slow encode on host-07 · vit-b16"
    assert one["url"] == f"/alerts/{Alert.objects.get().pk}/"
    # To another session, and of another team, it is for Django to say.
    assert asked(web, session_of(people.stranger), team)[:2] == (404, True)
    assert asked(web, session, people.other_team.slug)[:2] == (404, True)
    assert asked(web, "", team)[:2] == (403, True)


def test_who_was_let_in_is_looked_up_again_after_a_while() -> None:
    hearers.let_in("session", "team", 1000.0)
    assert hearers.is_in("session", "team", 1000.0 + hearers.KNOWN_S - 0.1)
    assert not hearers.is_in("session", "team", 1000.0 + hearers.KNOWN_S)
    assert not hearers.is_in("session", "another", 1000.0)
    assert not hearers.is_in("another", "team", 1000.0)


async def test_all_who_ask_within_a_second_share_one_reading_of_each_team() -> None:
    read: list[str] = []
    going_on = threading.Event()

    def reading(team: str) -> Sequence[Alert]:
        assert going_on.wait(20)
        read.append(team)
        return []

    recent = Recent(reading)
    asking = [asyncio.ensure_future(recent.of(team, 100.0)) for team in ("one", "two", "one", "one")]
    await asyncio.sleep(0)
    asking[0].cancel()
    going_on.set()
    assert await asyncio.gather(*asking[1:]) == [[], [], []]
    await recent.of("one", 100.0 + FRESH_S - 0.1)
    assert read == ["one", "two"]
    await recent.of("one", 100.0 + FRESH_S)
    assert read == ["one", "two", "one"]


async def test_a_reading_that_fails_is_begun_anew_by_the_next_who_asks() -> None:
    failures = [OSError("gone")]

    def reading(_team: str) -> Sequence[Alert]:
        if failures:
            raise failures.pop()
        return []

    recent = Recent(reading)
    with pytest.raises(OSError, match="gone"):
        await recent.of("team", 100.0)
    assert await recent.of("team", 100.0) == []
