"""Hostile requests to REST over a real socket: each gets its own clear refusal in JSON, and the server goes on."""

import base64
import itertools
import json
import socket
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.conf import settings

from dashboard.teams import tokens
from tests.cast import Cast, make_cast
from tests.ingest import scenarios
from tests.ingest.storing import Story

LISTS = ["/runs", "/findings", "/runs/{}/workers", "/runs/{}/rounds", "/runs/{}/phases", "/runs/{}/samples",
         "/runs/{}/findings"]  # fmt: skip
EDGES = [
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
]


@pytest.fixture
def cast(web: str) -> Cast:
    return make_cast()


@pytest.fixture
def run(cast: Cast) -> str:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()
    return str(story.run.pk)


@pytest.fixture
def script(web: str, cast: Cast) -> Iterator[httpx.Client]:
    """A script that may read and change the runs of its team."""
    headers = {"Authorization": f"Bearer {tokens.issue(cast.team, 'script', ['read', 'admin'])}"}
    with httpx.Client(base_url=f"{web}/api/v1", headers=headers, timeout=30) as client:
        yield client


def refused(answer: httpx.Response, status: int, field: str | None = None) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"].startswith("application/json")
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "field"}
    assert error["message"]
    assert error["field"] == field


def cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_times_at_the_edges_of_the_calendar_are_times(script: httpx.Client, run: str) -> None:
    for path, at, name in itertools.product(LISTS, EDGES, ("from", "to")):
        answer = script.get(path.format(run), params={name: at})
        assert answer.status_code == 200, answer.text
    for path, at in itertools.product(LISTS[:2], EDGES):
        assert script.get(path, params={"cursor": cursor([at, str(uuid.uuid4())])}).status_code == 200


def test_what_is_no_time_is_refused_with_its_field(script: httpx.Client, run: str) -> None:
    for text in (
        "0", "1e3", "1772366400", "inf", "now", "2026-03-01", "2026-03-01T12:00:00", "2026-02-30T12:00:00Z", "\0",
        "2026-03-01T25:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "２０２６-03-01T12:00:00Z",
        "2026-03-01T12:00:00+99:99", "x" * 10_000, "",
    ):  # fmt: skip
        refused(script.get(f"/runs/{run}/phases", params={"from": text}), 422, "from")


def test_a_cursor_of_no_page_of_the_list_is_refused(script: httpx.Client, run: str) -> None:
    for value in (
        [], [1], [1, 2, 3, 4], [1, 2, None], [1, 2, True], [1, 2, 0.5], [1, 2, "3"], [1, 2, 1 << 63],
        [1, 2, -(1 << 70)], {}, {"0": 1}, 7, None, "text", [[1], 2, 3], ["2026-03-01T12:00:00", str(uuid.uuid4())],
        ["2026-03-01T12:00:00Z", 7],
    ):  # fmt: skip
        for path in (*LISTS[:2], *LISTS[3:]):
            refused(script.get(path.format(run), params={"cursor": cursor(value)}), 422, "cursor")


def test_a_cursor_that_is_no_cursor_is_refused(script: httpx.Client, run: str) -> None:
    digits = base64.urlsafe_b64encode(b"[" + b"9" * 700 + b"]").decode()
    for text in ("", "=", "é", "a", "\x7f", "%", "\0", "\ud800", "A" * 1001, digits):
        query = "cursor=" + "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))
        for path in LISTS:
            refused(script.get(f"{path.format(run)}?{query}"), 422, "cursor")


def test_a_limit_outside_of_1_to_1000_is_refused(script: httpx.Client, run: str) -> None:
    for path, limit in itertools.product(LISTS, ("0", "-1", "1001", "1.5", "1e2", "", "many", "9" * 5000, "\0", "NaN")):
        refused(script.get(path.format(run), params={"limit": limit}), 422, "limit")


def test_a_name_that_no_text_can_hold_is_refused_with_its_field(script: httpx.Client, run: str) -> None:
    for path, name in (("/runs", "project"), ("/runs", "state"), ("/findings", "kind"), (f"/runs/{run}/phases", "name"),
                       (f"/runs/{run}/phases", "worker"), (f"/runs/{run}/samples", "metric")):  # fmt: skip
        refused(script.get(path, params={name: "a\0b"}), 422, name)


def test_any_other_name_is_merely_not_found(script: httpx.Client, run: str) -> None:
    for text in ("%", "_", "'; DROP TABLE ingest_run; --", "\\", "\u202e", "\U0010ffff", "x" * 10_000, "{{7*7}}"):
        answer = script.get(f"/runs/{run}/phases", params={"name": text, "nobody": text})
        assert answer.json() == {"items": [], "next": None}


def test_a_change_that_makes_no_sense_is_refused_and_changes_nothing(script: httpx.Client, run: str) -> None:
    before = script.get(f"/runs/{run}").json()
    for body in (
        b"", b"{", b"[]", b"7", b"null", b'"name"', b"\xff\xfe", b"[" * 100_000, b'{"name": NaN}', b'{"name": ""}',
        b'{"name": null}', b'{"name": "a\\u0000b"}', b'{"name": "\\ud800"}', b'{"name": 7}', b'{"tags": "a"}',
        b'{"tags": [" "]}', b'{"tags": ["a\\u0000"]}', b'{"tags": [null]}', b'{"notes": "%s"}' % (b"x" * 20_001),
        b'{"team": "1"}', b'{"id": "x"}', b'{"state": "finished"}', b'{"name": "%s"}' % (b"x" * 129),
        b'{"notes": %s}' % (b"9" * 5000), b'{"tags": %s}' % json.dumps(["t"] * 1000).encode(),
    ):  # fmt: skip
        answer = script.patch(f"/runs/{run}", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in {400, 422}, body[:40]
        refused(answer, answer.status_code, answer.json()["error"]["field"])
    assert script.get(f"/runs/{run}").json() == before


def test_a_body_of_another_kind_is_answered_in_json(script: httpx.Client, run: str) -> None:
    for kind in ("text/plain", "multipart/form-data", "multipart/form-data; boundary=x", "é", ""):
        for body in (b"", b"a=1&b=2", b"--x\r\n", b"\0" * 100):
            answer = script.patch(f"/runs/{run}", content=body, headers={b"Content-Type": kind.encode()})
            assert answer.status_code in {400, 422}
            assert answer.json()["error"]["message"]


def test_a_large_body_is_refused_in_front_of_every_route(script: httpx.Client, run: str) -> None:
    body = b"x" * (settings.BODY_LIMIT_BYTES + 1)
    for method in ("GET", "PATCH", "DELETE", "POST", "PUT"):
        for path in (f"/runs/{run}", f"/runs/{run}/phases", "/nothing", "/runs"):
            refused(script.request(method, path, content=body), 413)
    assert script.get(f"/runs/{run}").status_code == 200


def test_an_id_that_is_none_is_not_found(script: httpx.Client) -> None:
    for text in (str(uuid.UUID(int=0)), "%00", "..%2f..", "%ff", "0", "x" * 10_000):
        for path in LISTS[2:]:
            refused(script.get(path.format(text)), 404)


def asked(web: str, request: bytes) -> bytes:
    """What the server says to bytes that no client library would send."""
    address = urlsplit(web)
    said = b""
    with socket.create_connection((str(address.hostname), address.port or 80), 20) as connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(65536):
                said += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # it was closed while there was more to say
    return said


def test_what_is_no_sound_http_is_refused(web: str, script: httpx.Client) -> None:
    runs = b"GET /api/v1/runs"
    for line, headers in (
        (runs + b"?q=" + b"a" * 200_000, b""),
        (b"GET /api/v1/\x00", b""),
        (runs, b"Content-Length: 10\r\nContent-Length: 20\r\n"),
        (runs, b"Content-Length: -1\r\n"),
        (b"POST /api/v1/runs", b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n"),
        (runs, b"Host: elsewhere.example\r\n"),
    ):
        host = b"" if b"Host" in headers else b"Host: 127.0.0.1\r\n"
        said = asked(web, line + b" HTTP/1.1\r\n" + host + b"Connection: close\r\n" + headers + b"\r\n")
        assert said.startswith(b"HTTP/1.1 400"), (line[:40], headers, said[:200])
    assert script.get("/runs").status_code == 200


def test_a_head_without_an_end_is_cut_off(web: str, script: httpx.Client) -> None:
    for head in (
        b"GET /" + b"a" * 4_000_000,
        b"GET / HTTP/1.1\r\nX: " + b"a" * 4_000_000,
        b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 600_000,
    ):
        said = asked(web, head)
        assert said == b"" or said.startswith(b"HTTP/1.1 400"), said[:200]
    assert script.get("/runs").status_code == 200
