"""At every door a token is worth nothing 30 s after it was revoked, and from the moment on which it ends."""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import httpx
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.teams.tokens import issue
from ingest.api import auth
from ingest.models import Token
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.serving import serving
from tests.ingest.batches import request

pytestmark = pytest.mark.django_db(transaction=True)
Knock = Callable[[str], int]


def rest(token: str) -> int:
    """The status of REST's answer."""
    return Client(headers={"authorization": f"Bearer {token}"}).get("/api/v1/runs").status_code


@pytest.fixture(params=["rest", "ingest"])
def knock(request: pytest.FixtureRequest) -> Iterator[Knock]:
    """Shows a token at a door; returns the status of its answer."""
    auth.forget()
    if request.param == "rest":
        yield rest
    else:
        with serving() as (url, _):
            yield lambda token: ingest(url, token)
    auth.forget()


def ingest(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    return httpx.post(url + wire.PATH, content=wire.encode(request()), headers=headers, timeout=20).status_code


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have the doors' memory of tokens believe that so much time has passed."""
    monkeypatch.setattr(auth, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + seconds))
    ahead = dt.timedelta(seconds=seconds)
    monkeypatch.setattr(auth, "timezone", SimpleNamespace(now=lambda: timezone.now() + ahead))


def test_a_revoked_token_is_refused_after_thirty_seconds(
    knock: Knock, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = issue(cast.team, "both", ["ingest", "read"])
    assert knock(token) == 200
    Token.objects.update(revoked_at=timezone.now())
    later(monkeypatch, 30.0)
    assert knock(token) == 401


def test_a_token_that_ends_while_it_is_remembered_is_refused_from_then_on(
    knock: Knock, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = issue(cast.team, "both", ["ingest", "read"], expires_at=timezone.now() + dt.timedelta(seconds=600))
    assert knock(token) == 200
    info = auth.authenticate(f"Bearer {token}")
    assert info
    monkeypatch.setattr(auth, "timezone", SimpleNamespace(now=lambda: timezone.now() + dt.timedelta(seconds=601)))
    assert auth.authenticate(f"Bearer {token}") is info  # it is still remembered
    assert knock(token) == 401


def test_uses_are_noted_without_a_write_for_each(cast: Cast) -> None:
    auth.forget()
    token = issue(cast.team, "script", ["read"])
    rest(token)
    noted = Token.objects.get().last_used_at
    assert noted
    with CaptureQueriesContext(connection) as queries:
        for _ in range(5):
            auth.forget()  # as if it were looked up again each time
            rest(token)
    assert not [query for query in queries if "UPDATE" in query["sql"]]
    assert Token.objects.get().last_used_at == noted
