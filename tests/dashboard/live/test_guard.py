"""A socket outlives neither the session nor the membership that opened it, nor a browser that says nothing."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session

from dashboard.live import consumers
from dashboard.project.routing import sockets
from dashboard.teams.models import Membership, User
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.live.stage import Stage
from tests.dashboard.live.watcher import act


@pytest.fixture
def people(quiet: None) -> Cast:
    return make_cast()


@pytest.fixture
def stage(people: Cast) -> Stage:
    stage = Stage(people.team)
    stage.worker("trainer-0")
    return stage


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "_HELLO_WITHIN_S", 0.3)
    monkeypatch.setattr(consumers, "_AUTHORISE_EVERY_S", 0.6)


async def opened(user: User, run_id: Any) -> ApplicationCommunicator:
    """A socket of the real application, with the hello of a browser still to come."""
    cookie = (await act(browser_of, user)).cookies["sessionid"].value
    headers = [(b"cookie", f"sessionid={cookie}".encode()), (b"origin", settings.ORIGINS[0].encode())]
    path = f"/ws/runs/{run_id}/"
    socket = ApplicationCommunicator(sockets, {"type": "websocket", "path": path, "headers": headers})
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=20))["type"] == "websocket.accept"
    return socket


async def greet(socket: ApplicationCommunicator) -> None:
    hello = {"hello": {"epoch": "0", "last": "0"}}
    await socket.send_input({"type": "websocket.receive", "text": json.dumps(hello)})


async def leave(socket: ApplicationCommunicator) -> None:
    await socket.send_input({"type": "websocket.disconnect", "code": 1001})
    await socket.wait(timeout=20)


async def closing(socket: ApplicationCommunicator) -> int:
    """The code with which the server closes."""
    while True:
        said = await socket.receive_output(timeout=20)
        if said["type"] == "websocket.close":
            await leave(socket)
            code: int = said["code"]
            return code


def signed_out() -> None:
    Session.objects.all().delete()


def expelled() -> None:
    Membership.objects.all().delete()


def closed_account() -> None:
    User.objects.update(is_active=False)


def new_password() -> None:
    for user in User.objects.all():
        user.set_password("another long enough secret")
        user.save()


@pytest.mark.parametrize(
    ("happens", "code"), [(signed_out, 4401), (new_password, 4401), (closed_account, 4401), (expelled, 4404)]
)
async def test_who_may_no_longer_watch_is_shown_out(
    people: Cast, stage: Stage, impatient: None, happens: Callable[[], None], code: int
) -> None:
    socket = await opened(people.member, stage.run.pk)
    await greet(socket)
    await act(happens)
    assert await closing(socket) == code


async def test_who_may_watch_stays(people: Cast, stage: Stage, impatient: None) -> None:
    socket = await opened(people.viewer, stage.run.pk)
    await greet(socket)
    heard = [await socket.receive_output(timeout=20) for _ in range(5)]  # a clock each second
    assert {said["type"] for said in heard} == {"websocket.send"}
    await leave(socket)


async def test_a_browser_that_says_no_hello_is_shown_out(people: Cast, stage: Stage, impatient: None) -> None:
    assert await closing(await opened(people.owner, stage.run.pk)) == 4400


async def test_nothing_is_left_of_a_socket_that_closes(people: Cast, stage: Stage) -> None:
    before = asyncio.all_tasks()
    socket = await opened(people.owner, stage.run.pk)
    await greet(socket)
    await socket.receive_output(timeout=20)
    await leave(socket)
    assert asyncio.all_tasks() == before
