"""Hostile values in every field of the wire, over real HTTP: a clear answer each time, and nothing lost beside it."""

import gzip
import itertools
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

import httpx
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dashboard.teams.tokens import issue
from ingest.api import auth, debts, outage, pieces
from ingest.api.body import decode
from ingest.api.decode import job
from ingest.models import Phase, Run, Sample, Stream
from ingest.store.arrivals import Fault
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.hostile import hostile_bodies, with_more
from tests.ingest.api.serving import serving
from tests.ingest.batches import SECOND, Recorder, request

stored = pytest.mark.django_db(transaction=True)
NOW = time.time_ns()
HUGE, ENDLESS = "1" + "0" * 400, "1" * 5_000
NUMBERS = ["-1", str(1 << 31), str(1 << 62), str(1 << 63), str(-(1 << 63) - 1), str(1 << 64), HUGE, "-" + HUGE]
NUMBERS += [ENDLESS, "-" + ENDLESS, str(NOW // SECOND), str(NOW * 1000), "0"]
TEXTS = ['""', r'"\u0000"', r'"\ud800"', r'"\udfff\ud800"', r'"\u202etxet"', '"<script>alert(1)</script>"', '"nan"']
TEXTS += ['"%s"' % ("x" * 1_000_000), r'"\\u0000"', '"\U0001f600"']
ODD = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-999999", "1e999999999", "0.5", "null", "true"]
SHAPES = ["[]", "{}", "[[[[[]]]]]", "[" * 3_000 + "]" * 3_000, '{"a":1,"a":{"a":[1,1]}}', "[0,0,0,0,0,0,0,0,0]"]
PLACE = "a place for something hostile"


@pytest.fixture
def url() -> Iterator[str]:
    """A door with its defaults."""
    with serving() as (base, _):
        yield base


@pytest.fixture
def token(cast: Cast) -> str:
    """A token of the team that may ingest."""
    return issue(cast.team, "agent", ["ingest"])


def post(url: str, token: str, text: bytes) -> httpx.Response:
    """One request, compressed here."""
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    return httpx.post(url + wire.PATH, content=gzip.compress(text, 1), headers=headers, timeout=30)


def everything() -> dict[str, Any]:
    """A batch with two records of every sort, a drop, and an open phase, as the wire has it."""
    recorder = Recorder(run="victim", began_ns=NOW - 60 * SECOND).begin(name="a", config={"lr": 0.1}, tags=["x"])
    recorder.begin_round(0, NOW - 20 * SECOND).end_round(0, NOW - 10 * SECOND)
    for place in range(2):
        begin = NOW - (9 - place) * SECOND
        recorder.phase("train", begin, begin + SECOND, round=0, worker="other", note="a", deep=[{"b": 1.5}])
        recorder.event("saved", begin, round=0, path="b").sample("loss", 0.5, begin, device="gpu0", unit="1")
    recorder.drop(3, 2, from_ns=NOW - 5 * SECOND, to_ns=NOW - 4 * SECOND)
    recorder.open("upload", NOW - SECOND, round=0, progress=0.5)
    return asdict(recorder.batch())


def healthy() -> wire.Batch:
    """A neighbour with a phase and a reading of its own run."""
    recorder = Recorder(run="healthy", began_ns=NOW - 60 * SECOND)
    recorder.phase("train", NOW - 2 * SECOND, NOW - SECOND, round=3, note="kept")
    return recorder.sample("loss", 0.25, NOW - SECOND).batch()


def require_stored(batch: wire.Batch) -> None:
    """The healthy batch is in the database, exactly."""
    (stream,) = Stream.objects.filter(uid=uuid.UUID(batch.stream))
    phases = Phase.objects.filter(stream_id=stream.pk).values_list("begin_ns", "end_ns", "round", "attrs")
    assert list(phases) == [(NOW - 2 * SECOND, NOW - SECOND, 3, {"note": "kept"})]
    assert list(Sample.objects.filter(stream_id=stream.pk).values_list("value", flat=True)) == [0.25]
    assert (stream.stored_count, stream.rejected_count) == (batch.count, 0)


def places(raw: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a request, to each list and object as well as into it."""
    if path:
        yield path
    for key, part in raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ():
        yield from places(part, (*path, key))


def spoiled(victim: dict[str, Any], beside: wire.Batch, path: tuple[Any, ...], literal: str, *, more: bool) -> bytes:
    """A request's text with a literal in a place of the victim, or with one `more` beside what a list holds."""
    raw = asdict(request(beside)) | {"batches": [victim, asdict(beside)]}
    target: Any = raw
    for key in path[:-1]:
        target = target[key]
    if more and isinstance(target[path[-1]], list):
        target[path[-1]].append(PLACE)
    else:
        target[path[-1]] = PLACE
    return json.dumps(raw).replace(f'"{PLACE}"', literal).encode()


PLACES = [path for path in places({"batches": [everything()]}) if path not in {("batches",), ("batches", 0)}]
PLACES += [("version",), ("t1_ns",), ("wall_ns",), ("machine",)]


@stored
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(path=st.sampled_from(PLACES), literal=st.sampled_from(NUMBERS + TEXTS + ODD + SHAPES), more=st.booleans())
@example(path=("batches", 0, "open", 0, "progress"), literal=HUGE, more=False)
@example(path=("batches", 0, "identity", "pid"), literal=ENDLESS, more=False)
@example(path=("batches", 0, "lifecycle", 0, "data", "config"), literal=f'{{"a":{ENDLESS}}}', more=False)
@example(path=("batches", 0, "phases", "kind"), literal="0", more=True)
def test_whatever_stands_in_a_field_is_answered_clearly_and_its_neighbour_is_stored(
    url: str, token: str, path: tuple[Any, ...], literal: str, more: bool
) -> None:
    beside = healthy()
    response = post(url, token, spoiled(everything(), beside, path, literal, more=more))
    assert response.headers["content-type"] == "application/json"
    assert response.status_code in {200, 422}, response.text
    if response.status_code == 422:
        assert set(response.json()["error"]) == {"code", "message", "field"}
        assert response.json()["error"]["code"] not in {"unreadable", "unstorable"}, response.text
        assert not Stream.objects.filter(uid=uuid.UUID(beside.stream)).exists()
        response = post(url, token, json.dumps(asdict(request(beside))).encode())  # as the agent does, by halves
        assert response.status_code == 200
    results = {result["stream"]: (result["status"], result["rejected"]) for result in response.json()["results"]}
    assert results[beside.stream] == ("stored", 0)
    require_stored(beside)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(path=st.sampled_from(PLACES), literal=st.sampled_from(NUMBERS + TEXTS + ODD + SHAPES), more=st.booleans())
@example(path=("batches", 0, "samples", "worker", 0), literal=r'"\ud800"', more=False)
def test_whatever_stands_in_a_field_is_read_or_refused_with_a_word_why(
    path: tuple[Any, ...], literal: str, more: bool
) -> None:
    text = spoiled(everything(), healthy(), path, literal, more=more)
    try:
        work = job(uuid.uuid4(), text, "", time.time_ns())
    except Fault as fault:
        refused = fault
    else:
        assert len(work.arrivals) + len(work.refused) == 2
        assert not work.arrivals[-1].rejects
        return
    assert refused.status == 422
    assert refused.code in {"shape", "json", "numbers", "columns", "tables", "clock", "version"}


ALONE = {
    ("phases", "begin_ns", 0): NUMBERS,
    ("phases", "duration_ns", 0): [
        number for number in NUMBERS if number not in {"0", str(1 << 31), str(NOW // SECOND)}
    ],
    ("phases", "round", 0): ["-2", *NUMBERS[1:-3]],
    ("samples", "value", 0): [HUGE, "-" + HUGE, ENDLESS, "-" + ENDLESS, r'"\u0000"', r'"\ud800"', '"1e5"'],
    ("attrs", 0): [r'{"a":"\u0000"}', r'{"a":"\ud800"}', r'{"\ud800":1}', '{"a":"%s"}' % ("x" * 1_000_000)],
    ("lifecycle", 0, "data", "rounds"): [*NUMBERS[:-3], "NaN", '"<b>"'],
}


VALUES = [(path, each) for path, some in ALONE.items() for each in some]


@pytest.mark.parametrize(("path", "literal"), VALUES, ids=itertools.count())  # some hold the time of the collection
def test_a_value_that_cannot_be_kept_sets_its_record_aside_alone(path: tuple[Any, ...], literal: str) -> None:
    text = spoiled(everything(), healthy(), ("batches", 0, *path), literal, more=False)
    victim, beside = job(uuid.uuid4(), text, "", time.time_ns()).arrivals
    # A time is the difference to the one before: where it is wrong, those after it are as well.
    assert 1 <= len(victim.rejects) <= 2
    assert not beside.rejects


@pytest.mark.parametrize("literal", [HUGE, "-" + HUGE, ENDLESS, "NaN", "Infinity", "1e400", "-1", "2", "null"])
def test_progress_that_is_none_is_left_out_and_its_phase_stays(literal: str) -> None:
    text = spoiled(everything(), healthy(), ("batches", 0, "open", 0, "progress"), literal, more=False)
    victim, beside = job(uuid.uuid4(), text, "", time.time_ns()).arrivals
    assert [(phase["name"], phase["progress"]) for phase in victim.opens] == [("upload", None)]
    assert not victim.rejects
    assert not beside.rejects


@pytest.mark.parametrize("literal", [ENDLESS, "-" + ENDLESS])
def test_a_number_of_more_digits_than_python_reads_is_kept_as_infinity_among_attributes(literal: str) -> None:
    text = spoiled(everything(), healthy(), ("batches", 0, "attrs", 0), f'{{"a":{literal}}}', more=False)
    victim = job(uuid.uuid4(), text, "", time.time_ns()).arrivals[0]
    assert victim.attrs[0] == (b'{"a":"-inf"}' if literal.startswith("-") else b'{"a":"inf"}')


def test_a_large_body_is_read_as_a_small_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "VERSION", 9)
    sent = wire.Request(version=7, t1_ns=5, wall_ns=6, machine="m", batches=list(map(_batch_of, range(4))))
    assert not [each.name for each in fields(sent) if getattr(sent, each.name) == getattr(wire.Request(), each.name)]
    text = json.dumps(asdict(sent)).encode()
    whole = asdict(decode(text))
    assert whole == asdict(sent)
    monkeypatch.setattr("ingest.api.body.LARGEST_PIECE", 1)
    assert asdict(decode(text)) == whole
    monkeypatch.setattr(pieces, "LARGEST_PIECE", 1)
    assert asdict(decode(text)) == whole


def _batch_of(number: int) -> wire.Batch:
    return wire.Batch(**{**everything(), "stream": f"{number:032x}", "identity": wire.Identity(project="<{[,]}>")})


def test_a_full_request_of_phases_with_attributes_is_not_too_heavy() -> None:
    recorder = Recorder(began_ns=NOW)
    for place in range(wire.MAX_RECORDS // 2):
        recorder.phase("train", NOW - SECOND, NOW, round=place, a=place, b="{},[]", c=[1, 2], d={"e": 1})
    assert decode(gzip.decompress(wire.encode(request(recorder.batch())))).batches[0].count == wire.MAX_RECORDS


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ('"metrics":[{}]'.format(",".join(['{"name":""}'] * 60_000)), "batches[0].metrics"),
        ('"drops":[{}]'.format(",".join(['{"number":0,"span":1,"count":1}'] * 60_000)), "batches[0].drops"),
        ('"starts":[{}]'.format(",".join(["0"] * 700_000)), "batches"),
        ('"attrs":[{{"a":[{}]}}]'.format(",".join(["{}"] * 70_000)), "batches"),
        (
            '"lifecycle":[{{"number":0,"time_ns":0,"what":"begin","data":{{"config":{{"a":[{}]}}}}}}]'.format(
                ",".join(["1"] * 200_000)
            ),
            "batches",
        ),
        ('"attrs":[{{"b":NaN,"a":[{}]}}]'.format(",".join(["1"] * 200_000)), "batches"),
    ],
)
def test_more_than_any_request_needs_is_not_built(more: str, field: str) -> None:
    with pytest.raises(Fault) as refused:
        decode(with_more(Recorder(began_ns=NOW).batch(), more))
    assert (refused.value.status, refused.value.code, refused.value.field) == (413, "too_many", field)


def test_attributes_too_long_to_be_kept_are_not_built() -> None:
    keys = ",".join(f'"{place}":1' for place in range(200_000))
    recorder = Recorder(began_ns=NOW)
    recorder.phase("train", NOW - SECOND, NOW, a=1)
    text = with_more(recorder.batch(), f'"attrs":[{{{keys}}}]')
    assert len(decode(text).batches[0].attrs[0]) < 10
    (reject,) = job(uuid.uuid4(), text, "", NOW).arrivals[0].rejects
    assert reject.reason == f"attributes are longer than {wire.MAX_ATTRS_BYTES} bytes"


def test_the_longest_attributes_are_kept_in_the_longest_spelling() -> None:
    longest = "x" * (wire.MAX_ATTRS_BYTES - len('{"a":""}'))
    recorder = Recorder(began_ns=NOW)
    recorder.phase("train", NOW - SECOND, NOW, a=1)
    spelled = ",".join(['{"a":"%s"}' % (r"\u0078" * len(longest))] * 3)
    text = with_more(recorder.batch(), f'"attrs":[{spelled}]')
    assert len(text) > pieces.LARGEST_PIECE
    assert [each["a"] for each in decode(text).batches[0].attrs] == [longest] * 3


@stored
def test_bodies_made_to_cost_much_are_answered_and_the_team_stays_welcome(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
        for what, body in hostile_bodies().items():
            assert client.post(wire.PATH, content=body).status_code in {200, 413, 422}, what
        beside = healthy()
        assert client.post(wire.PATH, content=wire.encode(request(beside))).status_code == 200
    require_stored(beside)


@stored
def test_a_team_that_sends_junk_is_told_when_to_come_again_and_others_are_not(
    url: str, token: str, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debts, "CREDIT_S", 0.0)
    monkeypatch.setattr(debts, "FORGIVEN", 1e-6)
    body = json.dumps(asdict(request(healthy()))).encode()
    assert post(url, token, body).status_code == 200
    deadline = time.monotonic() + 20
    while (refused := post(url, token, b"nonsense")).status_code == 422:
        assert time.monotonic() < deadline
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_refused")
    assert int(refused.headers["retry-after"]) >= 1
    assert post(url, token, body).status_code == 429
    assert post(url, issue(cast.other_team, "agent", ["ingest"]), body).status_code == 200


@stored
def test_a_database_that_says_nothing_is_a_503_and_once_it_speaks_again_all_is_well(
    url: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "_PATIENCE_S", 0.3)
    assert post(url, token, json.dumps(asdict(request())).encode()).status_code == 200
    beside = healthy()
    body = json.dumps(asdict(request(beside))).encode()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE ingest_stream, ingest_token IN ACCESS EXCLUSIVE MODE")
        for _ in range(5):  # more than there are writers
            refused = post(url, token, body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "database")
            assert refused.headers["retry-after"] == "1"
        auth.forget()
        assert post(url, token, body).status_code == 503
    deadline = time.monotonic() + 20
    while (answer := post(url, token, body)).status_code == 503:
        assert time.monotonic() < deadline
    assert answer.status_code == 200
    assert Run.objects.filter(key="healthy").count() == 1
    require_stored(beside)
