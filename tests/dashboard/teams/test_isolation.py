"""Every path of the site, walked from its own map: to a stranger a team's things are as if they had never been."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.alerts.models import Alert, Channel, Delivery, Rule
from dashboard.live.routing import websocket_urlpatterns
from dashboard.project.routing import sockets
from dashboard.runs.exports import making
from dashboard.runs.models import Comparable, Investigation
from dashboard.teams import tokens
from dashboard.teams.models import Membership, Team, User
from ingest.models import Event, Export, Finding, Interval, Phase, Run, Stream, Token
from ingest.store import exports
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.live.watcher import act
from tests.dashboard.runs_of import add_figures, add_finding
from tests.dashboard.site_map import NOTHING, Way, ways
from tests.ingest import scenarios
from tests.ingest.storing import Story, store

SECRET = "only-of-this-team"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@pytest.fixture
def cast(quiet: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cast:
    monkeypatch.setattr(settings, "EXPORTS", tmp_path)
    cast = make_cast()
    Team.objects.filter(pk=cast.team.pk).update(name=SECRET, slug=SECRET)
    story = Story(cast.team, scenarios.healthy(2, 1), key=SECRET)
    story.tell()
    store(cast.team, [story.recorders["rank-0"].event("retained", story.begin_ns, label=SECRET).batch()])
    Run.objects.update(name=SECRET, project=SECRET)
    add_finding(story.run, [0])
    add_figures(story.run, 10.0, device=SECRET)
    Finding.objects.update(observed=SECRET)
    tokens.issue(cast.team, SECRET, ["read"])
    finding = Finding.objects.get()
    channel = Channel.objects.create(team=cast.team, name=SECRET, way="email", settings={"to": f"{SECRET}@example.org"})
    Rule.objects.create(team=cast.team, name=SECRET)
    Interval.objects.create(team=cast.team, project=SECRET, name=SECRET, begin_name=SECRET, end_name=SECRET, most_s=10)
    at = finding.opened_at
    Comparable.objects.create(team=cast.team, conditions=[], reason=SECRET, made_at=at)
    Investigation.objects.create(
        team=cast.team, project=SECRET, run=story.run, title=SECRET, change=SECRET, since=at, made_at=at, changed_at=at
    )
    alert = Alert.objects.create(
        team=cast.team, run=story.run, finding=finding, kind="straggler", phase=SECRET, opened_at=finding.opened_at,
        updated_at=finding.opened_at,
    )  # fmt: skip
    making.make_slice(exports.ask(story.run, "perfetto", None).pk)
    Delivery.objects.create(
        channel=channel, alert=alert, happened="opened", content={"title": SECRET}, made_at=finding.opened_at
    )
    return cast


def known(cast: Cast) -> dict[str, str]:
    """What the paths' parameters name of the team. A parameter that a new path brings must be added here."""
    return {
        "run_id": str(Run.objects.get().pk),
        "token_id": str(Token.objects.get(team=cast.team, name=SECRET).pk),
        "slug": SECRET,
        "alert_id": str(Alert.objects.get().pk),
        "rule_id": str(Rule.objects.get(name=SECRET).pk),
        "channel_id": str(Channel.objects.get().pk),
        "interval_id": str(Interval.objects.get().pk),
        "member_id": str(Membership.objects.get(user=cast.member).pk),
        "comparable_id": str(Comparable.objects.get().pk),
        "investigation_id": str(Investigation.objects.get().pk),
        "export_id": str(Export.objects.get().pk),
    }


def said(browser: Client, method: str, path: str) -> tuple[int, dict[str, str], str, int]:
    """Status, headers, text and number of queries of an answer, without the path that was asked for."""
    with CaptureQueriesContext(connection) as queries:
        answer = browser.generic(method, path)
    text = "" if answer.streaming else answer.content.decode()
    text = re.sub(r"\b\w{64}\b", "", text.replace(path, "PATH"))  # a CSRF token, another each time
    headers = {name: value.replace(path, "PATH") for name, value in answer.items() if name != "Expires"}
    return answer.status_code, headers, text, len(queries)


def as_if_it_were_not_there(make: Callable[[], Client], way: Way, things: dict[str, str]) -> set[int]:
    """The statuses of every method, once it is sure that they tell nothing."""
    statuses = set()
    for method in METHODS:
        theirs = said(make(), method, way.to(things))
        assert SECRET not in theirs[2], (method, way.path)
        assert not way.things or theirs == said(make(), method, way.to(NOTHING)), (method, way.path)
        statuses.add(theirs[0])
    return statuses


def test_a_stranger_learns_nothing_at_any_path(cast: Cast) -> None:
    things = known(cast)
    walked = list(ways())
    assert len(walked) > 25
    for way in walked:
        assert way.things <= set(things), f"say in known() what {way.path} names"
        statuses = as_if_it_were_not_there(lambda: browser_of(cast.stranger), way, things)
        if way.things:
            # A body that makes no sense is told so before anything is looked up.
            assert statuses <= {404, 405, 422}, (way.path, statuses)
            assert 404 in statuses, way.path
    assert Run.objects.count() == 1
    assert Token.objects.get(name=SECRET).revoked_at is None
    assert (Alert.objects.get().state, Channel.objects.count()) == ("open", 1)
    assert Membership.objects.filter(team=cast.team).count() == 3


def test_a_visitor_learns_nothing_at_any_path(cast: Cast) -> None:
    things = known(cast)
    for way in ways():
        statuses = as_if_it_were_not_there(Client, way, things)
        assert not way.things or 200 not in statuses, way.path


def test_a_members_own_things_are_there(cast: Cast) -> None:
    things = known(cast)
    phase = Phase.objects.filter(run_id=things["run_id"]).order_by("start_number").first()
    assert phase
    query = f"?attempt={Stream.objects.get(pk=phase.stream_id).index}&start={phase.start_number}"
    query += "&from_ns=0&to_ns=9&round=0"
    event = Event.objects.get(run_id=things["run_id"])
    of_event = f"?attempt={Stream.objects.get(pk=event.stream_id).index}&number={event.number}&near_ns={event.time_ns}"
    for way in ways():
        if way.path == "/teams/<slug:slug>/":  # it takes a POST and leads elsewhere
            assert browser_of(cast.member).post(way.to(things)).status_code == 302
        elif way.things:
            assert (
                browser_of(cast.member)
                .get(way.to(things) + (of_event if way.path.endswith("/event") else query))
                .status_code
                == 200
            ), way.path


async def opened(user: User, path: str) -> list[dict[str, Any]]:
    """What a socket is told, up to its end or its first clock."""
    cookie = (await act(browser_of, user)).cookies["sessionid"].value
    headers = [(b"cookie", f"sessionid={cookie}".encode()), (b"origin", settings.ORIGINS[0].encode())]
    socket: Any = ApplicationCommunicator(  # type: ignore[no-untyped-call]
        sockets, {"type": "websocket", "path": path, "headers": headers}
    )
    await socket.send_input({"type": "websocket.connect"})
    heard = [await socket.receive_output(timeout=20) for _ in range(2)]
    await socket.send_input({"type": "websocket.disconnect", "code": 1001})
    await socket.wait(timeout=20)
    return heard


async def test_a_stranger_learns_nothing_at_any_socket(cast: Cast) -> None:
    things = await act(known, cast)
    for pattern in websocket_urlpatterns:
        regex = str(pattern.pattern)
        names = re.findall(r"\(\?P<(\w+)>", regex)
        assert set(names) <= set(things), f"say in known() what {regex} names"
        path, nowhere = ("/ws/runs/{run_id}/".format(**every) for every in (things, NOTHING))
        assert re.search(regex, path.lstrip("/")), f"say what path {regex} has"
        theirs = await opened(cast.stranger, path)
        assert theirs == await opened(cast.stranger, nowhere)
        assert (theirs[1]["type"], theirs[1]["code"]) == ("websocket.close", 4404)
        assert (await opened(cast.member, path))[1]["type"] == "websocket.send"
