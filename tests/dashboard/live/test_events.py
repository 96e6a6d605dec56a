"""Events on the live page: in the picture it begins with, in what the feed missed, and each with all it told."""

import time
from typing import Any

import pytest
from django.test import Client

from dashboard.live.comparison import Comparison
from dashboard.live.snapshot import Ask, history, snapshot
from ingest.feed.frames import FrameType, decode
from ingest.models import Event, Run, Stream
from ingest.queries.live import Window
from tests.cast import Cast, browser_of
from tests.ingest.batches import SECOND, Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db(transaction=True)
RETAINED = {"label": "<b>fallback</b>", "held_by": "a cycle", "path": "dict['deltas'][0]", "container": "list"}


@pytest.fixture
def begin_ns() -> int:
    return (time.time_ns() // SECOND - 100) * SECOND


@pytest.fixture
def run(cast: Cast, begin_ns: int) -> Run:
    """A trainer with an event after one second and one after a minute."""
    recorder = Recorder("trainer-0", began_ns=begin_ns).begin()
    recorder.event("retained", begin_ns + SECOND, round=3, **RETAINED).event("gc", begin_ns + 60 * SECOND, seconds=0.2)
    deliver(cast.team.id, recorder.batch())
    return Run.objects.get()


def ids(chunks: list[bytes]) -> list[int]:
    return [int(each) for kind, found in decode(b"".join(chunks)) if kind is FrameType.EVENT for each in found["id"]]


def test_they_are_in_the_picture_of_the_run_and_of_a_window(run: Run, begin_ns: int) -> None:
    assert ids(snapshot(run.pk, Ask())) == [1, 2]
    assert ids(snapshot(run.pk, Ask(begin_ns, begin_ns + 9 * SECOND))) == [1]
    assert ids(history(run.pk, Window(begin_ns + 9 * SECOND, begin_ns + 99 * SECOND)).chunks) == [2]


def test_what_the_feed_did_not_tell_comes_from_postgres(run: Run) -> None:
    stream = Stream.objects.get(run=run)
    look = Comparison(run.pk).look({stream.pk: [(0, 1)]}, {}, sure=True)
    assert look
    assert look.part[FrameType.EVENT]["id"].tolist() == [2]


def asked(client: Client, run: Run, status: int = 200, **query: Any) -> Any:
    answer = client.get(f"/runs/{run.pk}/live/event", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_one_tells_whose_it_is_when_it_was_and_all_that_was_told_with_it(cast: Cast, run: Run, begin_ns: int) -> None:
    # The page knows the time as well as its frames' unit allows.
    said = asked(browser_of(cast.viewer), run, attempt=0, number=1, near_ns=begin_ns + 2 * SECOND)
    assert said == {
        "attempt": 0, "attempt_number": 0, "number": 1, "name": "retained", "round": 3, "thread": 0, "lane": 0,
        "worker": "trainer-0", "time_ns": str(begin_ns + SECOND), "clock_error_s": 1e-6, "attrs": RETAINED,
    }  # fmt: skip


def test_one_that_is_not_there_and_one_of_another_team_are_not_found(cast: Cast, run: Run) -> None:
    near_ns = Event.objects.get(run_id=run.pk, number=1).time_ns
    there = {"attempt": 0, "number": 1, "near_ns": near_ns}
    for changed in ({"attempt": 7}, {"number": 0}, {"number": 1 << 61}, {"near_ns": 0}, {"near_ns": (1 << 62) - 1}):
        assert asked(browser_of(cast.viewer), run, 404, **there | changed)["error"]["code"] == "not_found"
    assert asked(browser_of(cast.viewer), run, 422, attempt=0, number=1)["error"]["field"] == "near_ns"
    assert asked(browser_of(cast.stranger), run, 404, **there)
