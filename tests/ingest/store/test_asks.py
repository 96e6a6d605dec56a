"""What a process is asked for: said once, with the answer to its stream's next batch, whoever asked."""

import time
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from dashboard.teams.tokens import issue
from ingest.api.decode import job
from ingest.models import Stream
from ingest.store import asks, telemetry
from ingest.store.asks import ask_for_stacks
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.serving import serving
from tests.ingest.batches import SECOND, Recorder, request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(began_ns=time.time_ns() - 10 * SECOND)


def heard(cast: Cast, *batches: wire.Batch) -> list[asks.Ask]:
    """What the answer to a request with these batches asks for."""
    body = wire.encode(request(*batches))
    (outcome,) = telemetry.write([job(UUID(str(cast.team.pk)), body, "gzip", time.time_ns())]).outcomes
    assert outcome.fault is None
    return outcome.asks


def open_phase(cast: Cast, recorder: Recorder) -> tuple[int, int]:
    """The stream with a phase that is open in it, and the phase's number."""
    start = recorder.open("encode", recorder.began_ns, round=0)
    assert heard(cast, recorder.batch()) == []
    return Stream.objects.get(uid=recorder.stream).pk, start


def test_the_next_batch_of_that_stream_takes_it_along_once(cast: Cast, recorder: Recorder) -> None:
    stream, start = open_phase(cast, recorder)
    other = Recorder("trainer-1", began_ns=recorder.began_ns)
    assert ask_for_stacks(stream, start)
    assert heard(cast, other.heartbeat(time.time_ns())) == []
    wish = {"what": "stacks", "stream": recorder.stream, "start": start}
    assert heard(cast, other.heartbeat(time.time_ns()), recorder.heartbeat(time.time_ns())) == [wish]
    assert heard(cast, recorder.heartbeat(time.time_ns())) == []


def test_it_is_said_once_even_where_two_batches_of_the_stream_come_together(cast: Cast, recorder: Recorder) -> None:
    stream, start = open_phase(cast, recorder)
    ask_for_stacks(stream, start)
    batches = [recorder.event("one", time.time_ns()).batch(), recorder.event("two", time.time_ns()).batch()]
    assert len(heard(cast, *batches)) == 1


def test_what_is_not_open_is_not_asked_for(cast: Cast, recorder: Recorder) -> None:
    stream, start = open_phase(cast, recorder)
    assert not ask_for_stacks(stream, start + 1)
    assert not ask_for_stacks(stream + 1, start)
    heard(cast, recorder.close(start, time.time_ns()).batch())
    assert not ask_for_stacks(stream, start)
    assert heard(cast, recorder.heartbeat(time.time_ns())) == []


def test_what_ended_or_was_deleted_is_not_asked(cast: Cast, recorder: Recorder) -> None:
    stream, start = open_phase(cast, recorder)
    for change in ({"ended_at": Stream.objects.get(pk=stream).heard_at}, {"ended_at": None, "deleted": True}):
        Stream.objects.filter(pk=stream).update(**change)
        assert not ask_for_stacks(stream, start)


def test_nobody_is_asked_for_what_nobody_waits_for_any_more(
    cast: Cast, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, start = open_phase(cast, recorder)
    monkeypatch.setattr(asks, "KEPT_S", -1)
    assert ask_for_stacks(stream, start)
    assert heard(cast, recorder.heartbeat(time.time_ns())) == []
    assert Stream.objects.get(pk=stream).asked is None


@pytest.fixture
def url() -> Iterator[str]:
    with serving() as (url, _):
        yield url


def test_an_agent_reads_it_in_its_answer(cast: Cast, recorder: Recorder, url: str) -> None:
    stream, start = open_phase(cast, recorder)
    ask_for_stacks(stream, start)
    headers = {"Authorization": f"Bearer {issue(cast.team, 'agent', ['ingest'])}", "Content-Encoding": "gzip"}
    body = wire.encode(request(recorder.heartbeat(time.time_ns())))
    answer = wire.decode_answer(httpx.post(url + wire.PATH, content=body, headers=headers, timeout=20).content)
    assert answer.ask == [{"what": "stacks", "stream": recorder.stream, "start": start}]
