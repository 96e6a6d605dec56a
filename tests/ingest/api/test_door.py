"""Every answer of the door for agents, over real HTTP."""

import contextlib
import gzip
import json
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.db import connection
from django.utils import timezone

from dashboard.teams.tokens import issue
from ingest.api import auth
from ingest.api.asgi import Door
from ingest.models import Phase, Run, Token
from ingest.store import run_keys
from ingest.store.allowance import Allowance
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.serving import serving
from tests.ingest.batches import SECOND, Recorder, request

GZIP = {"Content-Encoding": "gzip"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def door() -> Iterator[tuple[str, Door]]:
    """A door with its defaults, but for the patience: a body may take a second."""
    with serving(seconds=1.0) as served:
        yield served


@pytest.fixture
def token(cast: Cast) -> str:
    """A token of the team that may ingest."""
    return issue(cast.team, "agent", ["ingest"])


def post(url: str, token: str, body: bytes, **headers: str) -> httpx.Response:
    """One request, compressed unless a header says otherwise."""
    sent = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip", **headers}
    return httpx.post(url + wire.PATH, content=body, headers={k: v for k, v in sent.items() if v}, timeout=20)


def recorded(**identity: Any) -> Recorder:
    """A trainer with one phase."""
    recorder, begin = Recorder(began_ns=time.time_ns(), **identity), time.time_ns() - SECOND
    return recorder.phase("train", begin, begin + SECOND // 2, round=0)


def refusal(response: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and field of a refusal, which is JSON of the one shape."""
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert set(error) == {"code", "message", "field"}
    assert error["message"].endswith(".") or " " in error["message"]
    return response.status_code, error["code"], error["field"]


def test_a_stored_request_is_answered_with_results_and_the_servers_clock(door: tuple[str, Door], token: str) -> None:
    before = time.time_ns()
    response = post(door[0], token, wire.encode(request(recorded().batch())))
    assert response.status_code == 200
    answer = wire.decode_answer(response.content)
    assert [(result.status, result.missing, result.rejected) for result in answer.results] == [("stored", [], 0)]
    assert before <= answer.t2_ns <= answer.t3_ns <= time.time_ns()
    assert answer.clock.startswith("server-")
    assert Phase.objects.filter(run_id=Run.objects.get().id).count() == 1


def test_a_body_that_is_not_compressed_is_read_too(door: tuple[str, Door], token: str) -> None:
    body = gzip.decompress(wire.encode(request(recorded().batch())))
    assert post(door[0], token, body, **{"Content-Encoding": ""}).status_code == 200


def test_many_requests_on_one_connection(door: tuple[str, Door], token: str) -> None:
    recorder = recorded()
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    with httpx.Client(base_url=door[0], headers=headers) as client:
        for _ in range(5):
            begin = time.time_ns() - SECOND
            recorder.phase("train", begin, begin + 1)
            assert client.post(wire.PATH, content=wire.encode(request(recorder.batch()))).status_code == 200
    assert Phase.objects.filter(run_id=Run.objects.get().id).count() == 6


@pytest.mark.parametrize("scopes", [["read"], ["admin", "read"]])
def test_a_token_that_may_not_ingest_is_refused(door: tuple[str, Door], cast: Cast, scopes: list[str]) -> None:
    response = post(door[0], issue(cast.team, "reader", scopes), wire.encode(request()))
    assert refusal(response)[:2] == (401, "token")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["", "Basic abc", "Bearer", "Bearer nonsense", "Bearer " + "x" * 1000])
def test_a_missing_or_wrong_token_is_refused(door: tuple[str, Door], token: str, header: str) -> None:
    response = post(door[0], "", wire.encode(request()), Authorization=header)
    assert refusal(response)[:2] == (401, "token")


def test_a_revoked_and_an_expired_token_are_refused_once_they_are_looked_up(
    door: tuple[str, Door], cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "_REMEMBER_S", 0.0)
    body = wire.encode(request())
    for change in ({"revoked_at": timezone.now()}, {"expires_at": timezone.now()}):
        token = issue(cast.team, "agent", ["ingest"])
        assert post(door[0], token, body).status_code == 200
        Token.objects.filter(prefix=token[:10]).update(**change)
        assert post(door[0], token, body).status_code == 401


def test_the_use_of_a_token_is_noted(door: tuple[str, Door], token: str) -> None:
    assert post(door[0], token, wire.encode(request())).status_code == 200
    assert Token.objects.get(prefix=token[:10]).last_used_at is not None


def test_nobody_is_answered_by_anything_but_post(door: tuple[str, Door], token: str) -> None:
    response = httpx.get(door[0] + wire.PATH, headers={"Authorization": f"Bearer {token}"})
    assert refusal(response)[:2] == (405, "method")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"nonsense", None),
        (b"[]", None),
        (b'{"version": 99}', "version"),
        (b'{"batches": [{"stream": 5}]}', "batches[0].stream"),
        (b'{"batches": [' + b"[" * 100_000, None),
        (b'{"t1_ns": 1e400}', "t1_ns"),
        (b"\xff\xfe{}", None),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_the_field(
    door: tuple[str, Door], token: str, body: bytes, field: str | None
) -> None:
    response = post(door[0], token, gzip.compress(body))
    status, _, named = refusal(response)
    assert (status, named) == (422, field)


EMPTY = gzip.compress(b"{}", mtime=0)


@pytest.mark.parametrize("body", [b"no gzip", EMPTY[:-4], EMPTY + b"more"])
def test_a_broken_gzip_is_refused(door: tuple[str, Door], token: str, body: bytes) -> None:
    assert refusal(post(door[0], token, body))[:2] == (422, "gzip")


def test_an_unknown_encoding_is_refused(door: tuple[str, Door], token: str) -> None:
    response = post(door[0], token, b"x", **{"Content-Encoding": "br"})
    assert refusal(response)[:2] == (422, "encoding")


def test_a_batch_that_belongs_nowhere_is_refused_alone(door: tuple[str, Door], token: str) -> None:
    nameless, short, sound = recorded(worker="\ud800").batch(), recorded().batch(), recorded().batch()
    short.stream = "\udfffx"
    response = post(door[0], token, wire.encode(request(nameless, short, sound)))
    assert response.status_code == 200
    results = {result["stream"]: (result["status"], result["reason"]) for result in response.json()["results"]}
    assert results == {
        nameless.stream: ("refused", "identity.worker: a name holds a character that cannot be stored"),
        "\ufffdx": ("refused", "stream: A stream is named by 32 hexadecimal digits."),
        sound.stream: ("stored", ""),
    }


def test_columns_of_different_lengths_refuse_the_request(door: tuple[str, Door], token: str) -> None:
    batch = recorded().batch()
    batch.phases.kind.append(0)
    status, code, field = refusal(post(door[0], token, wire.encode(request(batch))))
    assert (status, code, field) == (422, "columns", "batches[0].phases.kind")


@pytest.mark.parametrize(("first", "count"), [(0, 3), (1, 2), (0, 1), (-1, 2), (1 << 63, 2)])
def test_numbers_that_do_not_cover_the_batch_refuse_it(
    door: tuple[str, Door], token: str, first: int, count: int
) -> None:
    batch = recorded().batch()
    batch.first, batch.count = first, count
    assert refusal(post(door[0], token, wire.encode(request(batch))))[:2] == (422, "numbers")


def test_a_bomb_is_refused_before_it_unfolds(door: tuple[str, Door], token: str) -> None:
    bomb = gzip.compress(b" " * (200 << 20))
    assert len(bomb) < wire.MAX_COMPRESSED_BYTES
    assert refusal(post(door[0], token, bomb))[:2] == (413, "too_large")


def test_more_records_than_allowed_are_refused(door: tuple[str, Door], token: str) -> None:
    recorder, begin = Recorder(began_ns=time.time_ns()), time.time_ns() - SECOND
    for place in range(wire.MAX_RECORDS // 2 + 1):
        recorder.phase("train", begin + place, begin + place + 1)
    assert refusal(post(door[0], token, wire.encode(request(recorder.batch()))))[:2] == (413, "too_many")


def raw(url: str, head: str, *pieces: bytes) -> bytes:
    """Send a request by hand and return all that comes back until the server closes."""
    parts = urlsplit(url)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=20) as connected:
        connected.sendall(head.encode())
        for piece in pieces:
            connected.sendall(piece)
        received = b""
        while chunk := connected.recv(65536):
            received += chunk
        return received


def head_of(token: str, *lines: str) -> str:
    """The head of a request by hand."""
    return "\r\n".join([f"POST {wire.PATH} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *lines, "", ""])


def test_a_declared_length_beyond_the_limit_is_refused_before_the_body_is_sent(
    door: tuple[str, Door], token: str
) -> None:
    answer = raw(door[0], head_of(token, f"Content-Length: {wire.MAX_COMPRESSED_BYTES + 1}"))
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_body_without_end_is_refused_and_still_reads_its_answer(door: tuple[str, Door], token: str) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = raw(door[0], head_of(token, "Transfer-Encoding: chunked"), *[chunk] * 40, b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'"too_large"' in answer


def test_a_body_that_does_not_come_is_given_up(door: tuple[str, Door], token: str) -> None:
    answer = raw(door[0], head_of(token, "Content-Length: 100"), b"only this")
    assert answer.startswith(b"HTTP/1.1 408")


def test_a_full_queue_says_when_to_come_again(cast: Cast, token: str) -> None:
    stranger = issue(cast.other_team, "agent", ["ingest"])
    with serving(threads=0, most_waiting=2) as (url, _):
        body = wire.encode(request())
        with httpx.Client(timeout=0.5) as hasty:
            send = {"headers": {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}, "content": body}
            with pytest.raises(httpx.ReadTimeout):  # nobody writes: the first one waits
                hasty.post(url + wire.PATH, **send)
            refused = hasty.post(url + wire.PATH, **send)
            assert refusal(refused)[:2] == (429, "too_many")
            assert refused.headers["retry-after"] == "1"
            with pytest.raises(httpx.ReadTimeout):
                hasty.post(
                    url + wire.PATH, **send | {"headers": {**send["headers"], "Authorization": f"Bearer {stranger}"}}
                )
            full = hasty.post(url + wire.PATH, **send)
            assert refusal(full)[:2] == (503, "busy")
            assert full.headers["retry-after"] == "1"


def test_slow_bodies_of_one_team_do_not_shut_out_another(cast: Cast, token: str) -> None:
    stranger, body = issue(cast.other_team, "agent", ["ingest"]), wire.encode(request())
    with serving(most_reading=4, seconds=20.0) as (url, door), contextlib.ExitStack() as slow:
        parts = urlsplit(url)
        for _ in range(2):
            connected = slow.enter_context(socket.create_connection((str(parts.hostname), int(parts.port or 0))))
            connected.sendall(head_of(token, "Content-Length: 100").encode() + b"only this")
        eventually(lambda: len(door._gate) == 2)
        refused = post(url, token, body)
        assert refusal(refused)[:2] == (429, "too_many")
        assert refused.headers["retry-after"] == "1"
        assert post(url, stranger, body).status_code == 200
        slow.close()  # and with its clients the team's share is given back
        eventually(lambda: not len(door._gate))
        assert post(url, token, body).status_code == 200


def test_a_request_whose_client_left_is_not_begun(door: tuple[str, Door], token: str) -> None:
    url, opened = door
    body = wire.encode(request(recorded(run="left").batch()))
    opened._writers._threads = 0  # nobody writes yet
    with httpx.Client(timeout=0.3) as hasty, pytest.raises(httpx.ReadTimeout):
        hasty.post(url + wire.PATH, content=body, headers={"Authorization": f"Bearer {token}"} | GZIP)
    ((waiting,),) = opened._writers._waiting._queues.values()
    eventually(waiting.outcome.cancelled)
    opened._writers._threads = 1
    assert post(url, token, wire.encode(request(recorded(run="stayed").batch()))).status_code == 200
    assert Run.objects.get().key == "stayed"


def test_a_request_that_begins_too_many_runs_is_refused_before_it_begins_any(
    door: tuple[str, Door], token: str
) -> None:
    beats = [Recorder(project=f"project-{place}", began_ns=time.time_ns()).batch() for place in range(65)]
    assert refusal(post(door[0], token, wire.encode(request(*beats)))) == (413, "too_many", "batches")
    assert not Run.objects.exists()
    assert post(door[0], token, wire.encode(request(*beats[:64]))).status_code == 200
    assert post(door[0], token, wire.encode(request(*beats))).status_code == 200  # one is new
    assert Run.objects.count() == 65


def test_a_team_that_begins_too_many_runs_a_minute_is_told_when_to_come_again(
    door: tuple[str, Door], token: str, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_keys, "_allowance", Allowance(2))
    for run in ("a", "b"):
        assert post(door[0], token, wire.encode(request(recorded(run=run).batch()))).status_code == 200
    refused = post(door[0], token, wire.encode(request(recorded(run="c").batch())))
    assert refusal(refused)[:2] == (429, "too_many_runs")
    assert 1 < int(refused.headers["retry-after"]) <= 30
    known, stranger = recorded(run="b", worker="late"), issue(cast.other_team, "agent", ["ingest"])
    assert post(door[0], token, wire.encode(request(known.batch()))).status_code == 200
    assert post(door[0], stranger, wire.encode(request(recorded(run="c").batch()))).status_code == 200
    assert sorted(Run.objects.filter(team=cast.team).values_list("key", flat=True)) == ["a", "b"]


def eventually(done: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + 10
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_broken_connections_to_the_database_are_replaced(door: tuple[str, Door], token: str) -> None:
    assert post(door[0], token, wire.encode(request(recorded().batch()))).status_code == 200
    with connection.cursor() as cursor:  # every connection of the writers breaks; they get new ones
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database()"
        )
    response = post(door[0], token, wire.encode(request(recorded(run="run-2").batch())))
    assert response.status_code == 200


def test_a_request_that_the_database_refuses_does_not_fail_its_neighbours(door: tuple[str, Door], token: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ingest_run ADD CONSTRAINT no_poison CHECK (key <> 'poison')")
    try:
        responses = [
            post(door[0], token, wire.encode(request(recorded(run=run).batch()))) for run in ("a", "poison", "b")
        ]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE ingest_run DROP CONSTRAINT no_poison")
    assert [response.status_code for response in responses] == [200, 422, 200]
    assert refusal(responses[1])[1] == "unstorable"


def test_deflate_is_no_gzip(door: tuple[str, Door], token: str) -> None:
    assert refusal(post(door[0], token, zlib.compress(json.dumps({}).encode())))[0] == 422
