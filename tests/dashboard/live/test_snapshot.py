"""The picture that a browser begins with holds what the database holds of the run, and nothing of any other."""

import datetime as dt
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from dashboard.live.numbers import from_text
from dashboard.live.snapshot import Ask, history, snapshot
from ingest.feed.frames import FrameType, SpanFlag, decode
from ingest.models import Gap, Run, Series, Stream
from ingest.queries.live import Window
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.live.stage import SECOND, Stage


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def stage(people: Cast) -> Stage:
    stage = Stage(people.team)
    stage.worker("coordinator", role="coordinator", machine="machine-0")
    stage.worker("trainer-0")
    return stage


def frames(chunks: list[bytes]) -> dict[FrameType, Any]:
    return dict(decode(b"".join(chunks)))


def ids(found: dict[FrameType, Any]) -> list[int]:
    return found[FrameType.SPAN]["id"].tolist() if FrameType.SPAN in found else []


def host_samples(team: Any, machine: str, times_ns: list[int], value: float) -> Series:
    """A shipper's own stream with one reading at each time."""
    now = timezone.now()
    stream = Stream.objects.create(team=team, uid=uuid.uuid4(), machine=machine, began_at=now, heard_at=now)
    series = Series.objects.create(stream=stream, metric="cpu", unit="%", source="host")
    with connection.cursor() as cursor:
        for number, time_ns in enumerate(times_ns):
            row = [series.pk, stream.pk, number, time_ns, value, now.date()]
            cursor.execute("INSERT INTO ingest_sample VALUES (%s, %s, %s, %s, %s, %s, -1)", row)
        cursor.execute(
            "UPDATE ingest_stream SET numbers = int8multirange(int8range(0, %s)) WHERE id = %s",
            [len(times_ns), stream.pk],
        )
    return series


def test_everything_is_in_it_to_the_microsecond(stage: Stage) -> None:
    spans = stage.spans(stage.parts[1], 4, name="encode", round=3)
    spans.state[1], spans.state[2] = 1, 2
    stage.store(stage.parts[1], spans)
    start = stage.opened(stage.parts[1], "upload", round=3)
    stage.round(3, closed=True, end_ns=stage.begin_ns + 40 * SECOND, kind_seconds=list(range(9)), coverage=0.5)
    Gap.objects.create(stream=stage.parts[0].stream, number=7, span=2, count=2, begin_ns=None)
    found = frames(snapshot(stage.run.pk, Ask()))
    assert ids(found) == spans.start_number.tolist()
    assert found[FrameType.SPAN]["start"].tolist() == (spans.begin_ns // 1000 * 1000).tolist()
    ends = found[FrameType.SPAN]["start"] + found[FrameType.SPAN]["duration"]
    assert ends.tolist() == (spans.end_ns // 1000 * 1000).tolist()
    assert found[FrameType.SPAN]["flags"].tolist() == [0, SpanFlag.ERROR, SpanFlag.ABORTED, 0]
    assert set(found[FrameType.SPAN]["lane"].tolist()) == {1} == set(found[FrameType.SPAN]["attempt"].tolist())
    assert found[FrameType.STEP]["kinds"].tolist() == [list(range(9))]
    assert (found[FrameType.STEP]["index"].tolist(), found[FrameType.STEP]["coverage"].tolist()) == ([3], [0.5])
    assert found[FrameType.GAP]["begin"].tolist() == [-1]
    assert found[FrameType.OPEN_SNAPSHOT]["id"].tolist() == [start]
    assert found[FrameType.HEARTBEAT]["attempt"].tolist() == [0, 1]
    meta = found[FrameType.META]["json"]
    assert [lane["name"] for lane in meta["lanes"]] == ["coordinator", "trainer-0"]
    assert {phase["name"]: phase["kind"] for phase in meta["phases"]} == {"encode": "encode", "upload": "transfer"}
    assert from_text(meta["base"]) == {stage.parts[1].stream.pk: [(0, 7)]}


def test_its_cursor_is_the_feeds(stage: Stage) -> None:
    assert {(f["epoch"], f["last"]) for _, f in decode(b"".join(snapshot(stage.run.pk, Ask())))} == {(0, 0)}
    stage.happen(stage.parts[0], 1)
    places = {(f["epoch"], f["last"]) for _, f in decode(b"".join(snapshot(stage.run.pk, Ask())))}
    ((epoch, last),) = places
    assert epoch > 0
    assert last > 0


def test_a_window_holds_what_touches_it(stage: Stage) -> None:
    spans = stage.spans(stage.parts[0], 10)
    stage.store(stage.parts[0], spans)
    inside = Window(int(spans.end_ns[2]), int(spans.begin_ns[6]))
    for found in (
        frames(history(stage.run.pk, inside).chunks),
        frames(snapshot(stage.run.pk, Ask(inside.from_ns, inside.to_ns))),
    ):
        assert ids(found) == spans.start_number[2:7].tolist()


def test_a_phase_of_hours_that_reaches_into_a_window_is_in_it(stage: Stage) -> None:
    spans = stage.spans(stage.parts[0], 2)
    spans.begin_ns[0] -= 5 * 3600 * SECOND
    stage.store(stage.parts[0], spans)
    stage.round(0)
    stage.run.rounds.update(begin_ns=int(spans.begin_ns[0]))
    found = frames(history(stage.run.pk, Window(int(spans.begin_ns[1]) - SECOND, int(spans.begin_ns[1]))).chunks)
    assert ids(found) == spans.start_number.tolist()


def test_the_last_rounds_can_be_asked_for(stage: Stage) -> None:
    for index in range(3):
        stage.round(index)
    spans = stage.spans(stage.parts[0], 3)
    spans.begin_ns[:] = stage.begin_ns + np.array([1, 11, 21]) * SECOND
    spans.end_ns[:] = spans.begin_ns + SECOND
    stage.store(stage.parts[0], spans)
    assert ids(frames(snapshot(stage.run.pk, Ask(rounds=2)))) == spans.start_number[1:].tolist()


def test_what_does_not_fit_is_the_oldest_and_history_says_where_it_begins(stage: Stage) -> None:
    spans = stage.spans(stage.parts[0], 10)
    stage.store(stage.parts[0], spans)
    found = frames(snapshot(stage.run.pk, Ask(spans=4)))
    assert ids(found) == spans.start_number[6:].tolist()
    assert found[FrameType.META]["json"]["older_from_ns"] == spans.begin_ns[0]
    assert frames(snapshot(stage.run.pk, Ask(spans=11)))[FrameType.META]["json"]["older_from_ns"] is None
    whole = Window(0, int(spans.end_ns[-1]))
    stretch = history(stage.run.pk, whole, 4)
    assert ids(frames(stretch.chunks)) == spans.start_number[6:].tolist()
    assert stretch.from_ns == spans.begin_ns[6]
    rest = history(stage.run.pk, Window(int(spans.begin_ns[4]), int(spans.begin_ns[5])))
    assert rest.from_ns is None


def test_a_stretch_that_did_not_fit_brings_no_readings_of_what_is_asked_for_again(stage: Stage) -> None:
    stage.samples(stage.parts[0], "loss", [0.0, 1.0, 2.0])
    spans = stage.spans(stage.parts[0], 10)
    stage.store(stage.parts[0], spans)
    stretch = history(stage.run.pk, Window(0, stage.begin_ns + 9 * SECOND), 4)
    assert stretch.from_ns == spans.begin_ns[6]
    assert 0 < spans.begin_ns[6] - stage.begin_ns < SECOND
    assert frames(stretch.chunks)[FrameType.SAMPLE]["value"].tolist() == [1.0, 2.0]


def test_phases_come_in_order_and_with_their_own_worker_and_attempt(stage: Stage) -> None:
    other = Stage(stage.team)
    other.store(other.worker("trainer-0"), other.spans(other.parts[0], 3))
    stored = [stage.spans(part, 3, name=f"of-{part.worker.name}") for part in stage.parts]
    for part, spans in zip(stage.parts, stored, strict=True):
        Stream.objects.filter(pk=part.stream.pk).update(index=part.stream.index + 7)
        spans.begin_ns[:] += part.worker.index
        stage.store(part, spans)
    found = frames(snapshot(stage.run.pk, Ask()))[FrameType.SPAN]
    assert found["lane"].tolist() == [0, 1] * 3
    assert found["attempt"].tolist() == [7, 8] * 3
    assert found["phase"].tolist() == [0, 1] * 3
    assert found["id"].tolist() == [number for number in stored[0].start_number.tolist() for _ in (0, 1)]


def test_a_page_may_ask_for_so_many_phases_and_no_more_than_history_gives(web: str, people: Cast, stage: Stage) -> None:
    stage.store(stage.parts[0], stage.spans(stage.parts[0], 3))
    cookie = {"Cookie": f"sessionid={browser_of(people.owner).cookies['sessionid'].value}"}
    path = f"{web}/runs/{stage.run.pk}/live/snapshot"
    counts = {query: len(ids(frames([httpx.get(path + query, headers=cookie).content]))) for query in ("?spans=2", "")}
    assert counts == {"?spans=2": 2, "": 3}
    assert httpx.get(f"{path}?spans={10**18}", headers=cookie).status_code == 200
    assert httpx.get(f"{path}?spans=-1", headers=cookie).status_code == 422


def test_machines_show_their_samples_while_the_run_ran_and_only_to_their_team(people: Cast, stage: Stage) -> None:
    own = stage.samples(stage.parts[1], "loss", [0.5])
    during, before = stage.begin_ns + SECOND, stage.begin_ns - 3600 * SECOND
    ours = host_samples(people.team, "machine-1", [before, during], 7.0)
    host_samples(people.team, "machine-9", [during], 8.0)
    host_samples(people.other_team, "machine-1", [during], 9.0)
    found = frames(snapshot(stage.run.pk, Ask()))
    assert set(found[FrameType.SAMPLE]["series"].tolist()) == {own.pk, ours.pk}
    assert sorted(found[FrameType.SAMPLE]["value"].tolist()) == [0.5, 7.0]
    described = {series["series"]: series for series in found[FrameType.META]["json"]["series"]}
    assert described.keys() == {own.pk, ours.pk}
    assert (described[ours.pk]["lane"], described[ours.pk]["machine"]) == (None, "machine-1")
    assert described[own.pk]["lane"] == 1


def test_samples_that_are_not_finite_stay_so(stage: Stage) -> None:
    stage.samples(stage.parts[0], "loss", [float("nan"), float("inf"), 1.0])
    values = frames(snapshot(stage.run.pk, Ask()))[FrameType.SAMPLE]["value"]
    assert [np.isnan(values).sum(), np.isinf(values).sum(), values.size] == [1, 1, 3]


def test_an_empty_run_has_a_picture(stage: Stage) -> None:
    found = frames(snapshot(Stage(stage.team).run.pk, Ask()))
    assert found.keys() == {FrameType.META}


def test_a_run_that_is_gone_has_none(stage: Stage) -> None:
    with pytest.raises(Run.DoesNotExist):
        snapshot(uuid.uuid4(), Ask())


def test_history_of_an_ended_run_may_be_kept_by_the_browser(web: str, people: Cast, stage: Stage) -> None:
    cookie = {"Cookie": f"sessionid={browser_of(people.owner).cookies['sessionid'].value}"}
    path = f"{web}/runs/{stage.run.pk}/live/spans?from_ns=0&to_ns=9"
    assert httpx.get(path, headers=cookie).headers["cache-control"] == "no-store"
    Run.objects.update(ended_at=timezone.now())
    assert "max-age" in httpx.get(path, headers=cookie).headers["cache-control"]


@pytest.fixture
def clock_set_ahead(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Sets the server's clock ahead by an hour when it is called; Python's, for Postgres has none of its own here."""
    true = time.time_ns
    return lambda: monkeypatch.setattr(time, "time_ns", lambda: true() + 3600 * SECOND)


def test_samples_are_in_it_while_the_servers_clock_is_an_hour_ahead(
    stage: Stage, clock_set_ahead: Callable[[], None]
) -> None:
    now_ns = time.time_ns()
    host_samples(stage.team, "machine-0", [now_ns - SECOND], 1.0)
    Run.objects.filter(pk=stage.run.pk).update(started_at=timezone.now() - dt.timedelta(minutes=1))
    clock_set_ahead()
    Run.objects.filter(pk=stage.run.pk).update(heard_at=timezone.now() + dt.timedelta(hours=1))
    assert frames(snapshot(stage.run.pk, Ask()))[FrameType.SAMPLE]["value"].tolist() == [1.0]
