"""Heads that never end, and bytes that begin none: no connection is kept for them, and no answer is broken by them."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from dashboard.project import heads
from dashboard.project.heads import BoundedHeads
from tests.ingest.api.serving import running

HEAD = b"GET /%s HTTP/1.1\r\nHost: here\r\n"
REFUSED = b"HTTP/1.1 400 Bad Request\r\n"
refusing = threading.Event()


class Watched(BoundedHeads):
    """Says when a head was to be refused, and may have more patience from then on."""

    then_s: float | None = None

    def _refuse(self) -> None:
        heads.WITHIN_S = self.then_s or heads.WITHIN_S
        super()._refuse()
        refusing.set()


async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answers at once; at /slow only once a head was to be refused."""
    assert scope["type"] == "http"
    headers = [(b"content-length", b"8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": b"this", "more_body": True})
    if scope["path"] == "/slow":
        assert await asyncio.to_thread(refusing.wait, 20)
    await send({"type": "http.response.body", "body": b"that", "more_body": False})


@contextmanager
def connected() -> Iterator[socket.socket]:
    """A connection to a server that has much patience for what uvicorn bounds itself."""
    refusing.clear()
    with running(app, http=Watched, timeout_keep_alive=60) as url:
        where = urlsplit(url)
        with socket.create_connection((str(where.hostname), int(where.port or 0)), timeout=10) as connection:
            yield connection


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server with little patience for heads."""
    monkeypatch.setattr(heads, "WITHIN_S", 0.8)
    with connected() as connection:
        yield connection


def rest(link: socket.socket, until: bytes = b"") -> bytes:
    """What still comes: up to some bytes, or to the end of the connection."""
    said = b""
    while not (until and said.endswith(until)) and (part := link.recv(65536)):
        said += part
    return said


@pytest.mark.parametrize("said", [b"", b"\r\n", HEAD % b"quick" + b"\r\n", HEAD % b"quick" + b"\r\n\r\n"])
def test_who_begins_no_head_is_left(link: socket.socket, said: bytes) -> None:
    link.sendall(said)
    if b"quick" in said:
        assert rest(link, b"thisthat").startswith(b"HTTP/1.1 200 OK\r\n")
        link.sendall(b"\r\n")
    assert rest(link) == b""


@pytest.mark.parametrize("first", [b"", HEAD % b"quick" + b"\r\n"])
def test_a_head_that_comes_to_no_end_is_refused(link: socket.socket, first: bytes) -> None:
    if first:
        link.sendall(first)
        rest(link, b"thisthat")
    link.sendall(HEAD % b"quick")
    assert rest(link).startswith(REFUSED)


@pytest.mark.parametrize("more", [b"", b"X: " + b"x" * (heads.MOST_BYTES + 1)])
def test_a_head_without_end_behind_a_request_is_refused_after_the_answer(link: socket.socket, more: bytes) -> None:
    link.sendall(HEAD % b"slow" + b"\r\n")
    rest(link, b"this")
    link.sendall(HEAD % b"quick" + more)
    answer, _, beyond = rest(link).partition(b"that")
    assert answer == b""
    assert beyond.startswith(REFUSED)


def test_a_head_that_waited_for_the_answer_before_it_is_served(
    link: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watched, "then_s", 60.0)
    link.sendall(HEAD % b"slow" + b"\r\n")
    rest(link, b"this")
    link.sendall(HEAD % b"quick")
    rest(link, b"that")
    link.sendall(b"\r\n")
    assert rest(link, b"thisthat").startswith(b"HTTP/1.1 200 OK\r\n")


def test_many_heads_one_after_the_other_are_no_long_head() -> None:
    with connected() as link:
        for _ in range(20):
            link.sendall(HEAD % b"quick" + b"X: " + b"x" * 10_000 + b"\r\n\r\n")
            assert rest(link, b"thisthat").startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("said", [b"nonsense\r\n\r\n", HEAD % b"quick" + b"Content-Length: -1\r\n\r\n"])
def test_what_is_no_http_is_refused_in_the_form_of_every_refusal(link: socket.socket, said: bytes) -> None:
    link.sendall(said)
    head, _, body = rest(link).partition(b"\r\n\r\n")
    assert head.startswith(REFUSED)
    assert b"content-type: application/json" in head
    assert json.loads(body)["error"]["code"] == "http"
