"""After the commit: viewers are told what was stored, ended rounds close, and their judgement is asked for."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import numpy as np
import pytest

from dashboard.teams.tokens import issue
from ingest.api import tellers
from ingest.feed.connection import client
from ingest.feed.frames import FrameType, SpanFlag, StepFlag, decode
from ingest.feed.publisher import feed_key
from ingest.models import PhaseName, Round, Run, Series, Stream
from ingest.store.news import Bulletin, Readings
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.serving import serving
from tests.ingest.batches import SECOND, HostRecorder, Recorder, request, steady_round

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., None]


@pytest.fixture
def send(cast: Cast) -> Iterator[Send]:
    """Posts batches as one request; when it returns, they are committed."""
    token = issue(cast.team, "agent", ["ingest"])
    with serving() as (url, _), httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as http:

        def post(*batches: wire.Batch) -> None:
            body = wire.encode(request(*batches))
            response = http.post(wire.PATH, content=body, headers={"Content-Encoding": "gzip"})
            assert response.status_code == 200, response.text

        yield post


def until(condition: Callable[[], Any]) -> Any:
    """What the condition gives once it is true; fails after ten seconds."""
    deadline = time.monotonic() + 10
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)
    return value


def told(kind: FrameType) -> list[dict[str, Any]]:
    """The frames of a kind in the feed of the only run."""
    found = []
    for _, fields in client().xrange(feed_key(Run.objects.get().id)):
        found += [payload for each, payload in decode(fields[b"f"]) if each == kind]
    return found


def described(part: str) -> list[Any]:
    """A part of all META frames."""
    return [entry for frame in told(FrameType.META) for entry in frame["json"].get(part, [])]


def test_viewers_are_told_of_phases_with_all_they_need_to_draw_them(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    worker = Recorder("trainer-0", began_ns=start, rank=0)
    worker.phase("train", start, start + SECOND, round=2, state="error", thread=3, parent=1)
    start_number = worker.open("encode", start + SECOND, round=2, progress=0.5)
    send(worker.batch())
    (span,) = until(lambda: told(FrameType.SPAN))
    row = Stream.objects.get()
    names = {name.name: name.index for name in PhaseName.objects.all()}
    assert (span["lane"][0], span["attempt"][0], span["phase"][0]) == (0, row.index, names["train"])
    assert (span["id"][0], span["round"][0], span["thread"][0]) == (0, 2, 3)
    assert span["flags"][0] == SpanFlag.ERROR | SpanFlag.NESTED
    assert abs(int(span["start"][0]) - start) < 2000
    (opened,) = told(FrameType.OPEN_SNAPSHOT)
    assert (opened["id"][0], opened["phase"][0], opened["progress"][0]) == (start_number, names["encode"], 0.5)
    (beat,) = told(FrameType.HEARTBEAT)
    assert (beat["number"][0], beat["state"][0]) == (2, 0)
    assert {entry["name"] for entry in described("phases")} == {"train", "encode"}
    assert [entry["name"] for entry in described("lanes")] == ["trainer-0"]
    assert [entry["attempt"] for entry in described("attempts")] == [0]
    fields = client().xrange(feed_key(Run.objects.get().id))[0][1]
    assert json.loads(fields[b"n"]) == {str(row.pk): [[0, 2]]}


def test_viewers_are_told_of_events_and_their_names(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    worker = Recorder("trainer-0", began_ns=start)
    number = worker.next_number
    send(worker.event("retained", start + SECOND, round=4, label="model").batch())
    send(worker.event("gc", start + 2 * SECOND).event("gc", start + 3 * SECOND).batch())
    until(lambda: len(told(FrameType.EVENT)) == 2)
    first, more = told(FrameType.EVENT)
    names = {name.name: name.index for name in PhaseName.objects.all()}
    assert {entry["name"] for entry in described("phases")} == {"retained", "gc"}
    assert [first[column].tolist() for column in ("id", "round", "lane", "attempt", "phase")] == [
        [number], [4], [0], [Stream.objects.get().index], [names["retained"]],
    ]  # fmt: skip
    assert abs(int(first["time"][0]) - start - SECOND) < 1000
    assert more["id"].tolist() == [number + 1, number + 2]


def test_names_are_described_once(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    worker = Recorder("trainer-0", began_ns=start)
    for place in range(3):
        worker.phase("train", start + place, start + place + 1)
        send(worker.batch())
        until(lambda seen=place: len(told(FrameType.SPAN)) == seen + 1)
    assert [entry["name"] for entry in described("phases")] == ["train"]


def test_an_ended_round_closes_at_once_and_its_judgement_is_asked_for_by_name(send: Send) -> None:
    tasks = client()
    tasks.delete("celery")
    start = time.time_ns() - 60 * SECOND
    workers = [Recorder(f"trainer-{place}", began_ns=start) for place in range(3)]
    send(*steady_round(workers, 0, start))
    until(lambda: Round.objects.filter(index=0, closed=True).exists())
    step = until(lambda: [frame for frame in told(FrameType.STEP) if frame["flags"][0] & StepFlag.CLOSED])[-1]
    assert (step["index"][0], step["trainers"][0], int(step["end"][0]) - int(step["begin"][0])) == (0, 3, 7 * SECOND)
    message = json.loads(until(lambda: tasks.lindex("celery", 0)))
    assert message["headers"]["task"] == "ingest.judge_round"
    arguments = json.loads(base64.b64decode(message["body"]))[0]
    assert arguments == [str(Run.objects.get().id), 0, 0]
    tasks.delete("celery")


def test_a_round_closes_on_the_heartbeat_that_it_waited_for(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    first, second = (Recorder(f"trainer-{place}", began_ns=start) for place in range(2))
    send(second.begin().batch())
    send(*steady_round([first], 0, start))
    until(lambda: told(FrameType.STEP))
    assert not Round.objects.get().closed

    def beat() -> bool:
        send(second.heartbeat(time.time_ns()))
        return Round.objects.get().closed

    until(beat)


def test_a_new_state_is_told(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    worker = Recorder("trainer-0", began_ns=start)
    send(worker.begin(name="first").batch())
    until(lambda: described("lanes"))
    send(worker.finish(start + SECOND, "failed", error="out of memory").batch(alive=False))
    lane = until(lambda: [entry for entry in described("lanes") if entry["state"] == "failed"])[0]
    assert lane["state_reason"] == "out of memory"
    runs = [frame["json"]["run"] for frame in told(FrameType.META) if "run" in frame["json"]]
    assert (runs[-1]["state"], runs[-1]["name"]) == ("failed", "first")
    assert told(FrameType.HEARTBEAT)[-1]["state"][0] == 4


def test_losses_are_told_and_counted(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    worker = Recorder("trainer-0", began_ns=start)
    worker.drop(5, 9, from_ns=start, to_ns=start + SECOND).phase("x" * 200, start, start + 1)
    send(worker.batch())
    (gap,) = until(lambda: told(FrameType.GAP))
    assert (gap["count"][0], int(gap["end"][0]) - int(gap["begin"][0])) == (9, SECOND)
    meta = told(FrameType.META)[-1]["json"]
    assert (meta["dropped"], meta["rejected"]) == (9, 1)


def test_samples_of_a_machine_are_told_to_the_runs_that_have_a_worker_on_it(send: Send) -> None:
    start = time.time_ns() - 60 * SECOND
    worker = Recorder("trainer-0", began_ns=start, machine="m-1")
    worker.sample("loss", 0.5, start, source="training")
    send(worker.batch())
    until(lambda: told(FrameType.SAMPLE))
    host, elsewhere = HostRecorder(machine="m-1", began_ns=start), HostRecorder(machine="m-2", began_ns=start)
    host.sample("memory", 7.0, start, device="cgroup")
    elsewhere.sample("memory", 8.0, start)
    send(elsewhere.batch(), host.batch())
    until(lambda: len(told(FrameType.SAMPLE)) == 2)
    series = Series.objects.get(stream__uid=host.stream)
    frame = told(FrameType.SAMPLE)[-1]
    assert (frame["series"].tolist(), frame["value"].tolist()) == ([series.pk], [7.0])
    entries = {entry["series"]: entry for entry in described("series")}
    assert (entries[series.pk]["lane"], entries[series.pk]["machine"]) == (None, "m-1")


def test_news_that_nobody_takes_are_held_up_to_a_limit_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tellers, "_MOST_RECORDS", 1_000)
    monkeypatch.setattr(tellers.Tellers, "_run", lambda _self: None)
    waiting, run_id = tellers.Tellers(), uuid4()
    for place in range(50):
        news = Bulletin()
        series = np.full(300, place)
        news.run(run_id).readings.append(Readings(series, series, series.astype(np.float64)))
        waiting.tell(news)
    taken = waiting._take()
    assert taken is not None
    assert [int(readings.series[0]) for readings in taken.run(run_id).readings] == [47, 48, 49]
    waiting.close()


def test_what_comes_while_viewers_are_told_becomes_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    told, going_on, begun = list[Bulletin](), threading.Event(), threading.Event()

    def slowly(_self: tellers.Tellers, news: Bulletin) -> None:
        told.append(news)
        begun.set()
        going_on.wait(10)

    monkeypatch.setattr(tellers.Tellers, "_tell", slowly)
    teller, run_id = tellers.Tellers(), uuid4()
    for place in range(9):
        news = Bulletin()
        news.run(run_id).rounds.add(place)
        teller.tell(news)
        assert begun.wait(10)
    going_on.set()
    teller.close()
    assert [sorted(news.run(run_id).rounds) for news in told] == [[0], list(range(1, 9))]
