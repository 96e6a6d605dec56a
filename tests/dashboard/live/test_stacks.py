"""Thread stacks on the live page: who may ask for them, of what, and what is shown of what came."""

import time
from typing import Any

import pytest
from django.test import Client

from dashboard.teams.models import User
from ingest.models import Run, Stream
from tests.cast import Cast, browser_of
from tests.ingest.batches import SECOND, Recorder
from tests.ingest.storing import store

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = [{"name": "main", "frames": [["job/train.py", 16, "encode"], ["job/train.py", 40, "<module>"]], "more": 2}]


class Scene:
    """A worker in an open phase, as its agent tells it."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.recorder = Recorder(began_ns=time.time_ns() - 60 * SECOND)
        self.begin_ns = self.recorder.began_ns // 1000 * 1000
        self.start = self.recorder.open("encode", self.begin_ns, round=0)
        self.say()

    def say(self) -> None:
        store(self.cast.team, [self.recorder.batch()])

    def told(self, after_s: float, **attrs: Any) -> None:
        """The process's answer, so many seconds into the phase."""
        self.recorder.event("stacks", self.begin_ns + round(after_s * SECOND), round=0, **attrs)
        self.say()

    def path(self, start: int | None = None) -> str:
        run, stream = Run.objects.get(), Stream.objects.get()
        return f"/runs/{run.pk}/live/stacks?attempt={stream.index}&start={self.start if start is None else start}"

    def get(self, user: User) -> Any:
        answer = browser_of(user).get(self.path())
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
        return answer.json()


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return Scene(cast)


def test_before_anybody_has_asked_there_are_none(scene: Scene) -> None:
    said = scene.get(scene.cast.member)
    assert (said["open"], said["may_ask"], said["stacks"]) == (True, True, None)
    assert 0 <= said["heard_s"] < 60


def test_the_newest_of_this_phase_are_shown_with_when_they_were_taken(scene: Scene) -> None:
    scene.told(5, start=scene.start, threads=THREADS, left_out=0)
    scene.told(9, start=scene.start + 7, threads=THREADS, left_out=0)
    two = [*THREADS, {"name": "b", "frames": [], "more": 0}]
    scene.told(8, start=scene.start, threads=two, left_out=4, only_main=True)
    found = scene.get(scene.cast.viewer)["stacks"]
    assert (found["after_s"], found["left_out"], found["only_main"], found["failed"]) == (8.0, 4, True, "")
    assert int(found["time_ns"]) == scene.begin_ns + 8 * SECOND
    assert found["threads"] == two
    scene.recorder.close(scene.start, time.time_ns())
    scene.say()
    closed = scene.get(scene.cast.viewer)
    assert (closed["open"], closed["stacks"]) == (False, found)


def test_why_a_process_cannot_tell_is_shown(scene: Scene) -> None:
    scene.told(1, start=scene.start, failed="it is stopped")
    found = scene.get(scene.cast.member)["stacks"]
    assert (found["failed"], found["threads"]) == ("it is stopped", [])


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"threads": 3},
        {"threads": [1, None, {"name": 1}, {"frames": 3}], "left_out": -1},
        {"threads": {"name": "x"}, "failed": [1], "only_main": "yes"},
        {"threads": [], "failed": None},
    ],
)
def test_what_makes_no_sense_is_said_to_make_none(scene: Scene, attrs: dict[str, Any]) -> None:
    scene.told(1, start=scene.start, **attrs)
    found = scene.get(scene.cast.member)["stacks"]
    assert (found["failed"], found["threads"], found["left_out"]) == ("what it sent cannot be read", [], 0)
    assert found["only_main"] is False


def test_frames_of_no_sense_leave_their_neighbours(scene: Scene) -> None:
    frames = [["a.py", "x", "f"], ["b.py", 2], 7, [None, -1, {"g": 1}]]
    scene.told(1, start=scene.start, threads=[{"name": 5, "frames": frames, "more": "many"}])
    (thread,) = scene.get(scene.cast.member)["stacks"]["threads"]
    assert thread == {"name": "5", "frames": [["a.py", 0, "f"], ["None", 0, "{'g': 1}"]], "more": 0}


def test_members_ask_and_viewers_are_refused(scene: Scene) -> None:
    refused = browser_of(scene.cast.viewer).post(scene.path())
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "viewer")
    assert scene.get(scene.cast.viewer)["may_ask"] is False
    assert Stream.objects.get().asked is None
    answer = browser_of(scene.cast.member).post(scene.path())
    assert (answer.status_code, answer.json()["stacks"]) == (202, None)
    asked = Stream.objects.get().asked
    assert asked
    assert asked["start"] == scene.start


def test_of_a_phase_that_has_ended_nobody_is_asked(scene: Scene) -> None:
    scene.recorder.close(scene.start, time.time_ns())
    scene.say()
    answer = browser_of(scene.cast.member).post(scene.path())
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_open")
    assert Stream.objects.get().asked is None


def test_strangers_and_visitors_reach_nobodys_process(scene: Scene) -> None:
    assert browser_of(scene.cast.stranger).post(scene.path()).status_code == 404
    assert Client().post(scene.path()).status_code == 401
    assert Stream.objects.get().asked is None


def test_another_site_cannot_ask_in_a_members_name(scene: Scene) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(scene.cast.member)
    assert browser.post(scene.path()).status_code == 403
    assert Stream.objects.get().asked is None


@pytest.mark.parametrize(("method", "status"), [("put", 405), ("delete", 405), ("get", 404), ("post", 404)])
def test_a_phase_that_is_not_there_is_not_found(scene: Scene, method: str, status: int) -> None:
    assert getattr(browser_of(scene.cast.member), method)(scene.path(start=99)).status_code == status
