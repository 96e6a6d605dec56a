"""What workers and runs are said to be: by their own words, their shipper's, or their silence."""

import datetime as dt
import time

import pytest
from django.utils import timezone

from ingest.api import check
from ingest.models import Run, Stream, Worker
from ingest.store import states, telemetry
from tests.cast import Cast
from tests.ingest.batches import SECOND, Recorder, request
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db


@pytest.fixture
def start() -> int:
    """A minute ago."""
    return time.time_ns() - 60 * SECOND


def silent_for(seconds: float) -> list[states.Change]:
    """Sweep as if nothing had been heard for `seconds`."""
    return states.sweep(timezone.now() + dt.timedelta(seconds=seconds))


def state_of(name: str) -> tuple[str, str]:
    """A worker's state and the reason for it."""
    row = Worker.objects.get(name=name)
    return row.state, row.state_reason


def test_silence_turns_a_worker_stale_then_lost_and_a_word_brings_it_back(cast: Cast, start: int) -> None:
    worker = Recorder("w", began_ns=start)
    deliver(cast.team.id, worker.begin().batch())
    assert silent_for(9) == []
    assert [len(change.worker_ids) for change in silent_for(11)] == [1]
    assert (state_of("w"), Run.objects.get().state) == (("stale", ""), "stale")
    assert silent_for(11) == []
    silent_for(16)
    assert state_of("w")[0] == "lost"
    assert "15 s" in state_of("w")[1]
    assert (Run.objects.get().state, Run.objects.get().ended_at is not None) == ("lost", True)
    deliver(cast.team.id, worker.heartbeat(time.time_ns()))
    assert state_of("w") == ("running", "")
    assert (Run.objects.get().state, Run.objects.get().ended_at) == ("running", None)


def test_who_was_heard_in_times_to_come_is_lost_15_s_after_the_clock_was_set_back(cast: Cast, start: int) -> None:
    deliver(cast.team.id, Recorder("w", began_ns=start).begin().batch())
    Worker.objects.update(last_seen=timezone.now() + dt.timedelta(hours=1))
    silent_for(0)
    assert state_of("w")[0] == "running"
    silent_for(16)
    assert state_of("w")[0] == "lost"


def test_a_word_after_the_clock_was_set_back_says_when_worker_and_run_were_heard(cast: Cast, start: int) -> None:
    worker = Recorder("w", began_ns=start)
    deliver(cast.team.id, worker.begin().batch())
    Worker.objects.update(last_seen=timezone.now() + dt.timedelta(hours=1))
    Run.objects.update(heard_at=timezone.now() + dt.timedelta(hours=1))
    deliver(cast.team.id, worker.heartbeat(time.time_ns()))
    assert Worker.objects.get().last_seen <= timezone.now()
    assert Run.objects.get().heard_at <= timezone.now()


def test_a_run_is_as_alive_as_its_liveliest_worker(cast: Cast, start: int) -> None:
    first, second = Recorder("a", began_ns=start), Recorder("b", began_ns=start)
    deliver(cast.team.id, first.begin().batch(), second.begin().batch())
    Worker.objects.filter(name="a").update(last_seen=timezone.now() - dt.timedelta(seconds=12))
    states.sweep(timezone.now())
    assert (state_of("a")[0], state_of("b")[0], Run.objects.get().state) == ("stale", "running", "running")


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        (["finished", "finished"], "finished"),
        (["finished", "killed"], "killed"),
        (["killed", "failed"], "failed"),
        (["finished", "gone"], "lost"),
        (["killed", "gone"], "killed"),
    ],
)
def test_a_run_ends_as_its_worst_worker(cast: Cast, start: int, ends: list[str], state: str) -> None:
    for place, end in enumerate(ends):
        worker = Recorder(f"w{place}", began_ns=start)
        if end == "gone":
            worker.gone(start + 30 * SECOND)
        else:
            worker.finish(start + 30 * SECOND, end)
        deliver(cast.team.id, worker.batch(alive=False))
    run = Run.objects.get()
    assert run.state == state
    assert run.ended_at is not None


def test_the_reason_of_a_failure_and_of_a_disappearance_is_kept(cast: Cast, start: int) -> None:
    failed, gone = Recorder("f", began_ns=start), Recorder("g", began_ns=start)
    failed.finish(start + SECOND, "failed", error="RuntimeError: out of memory\0")
    gone.gone(start + SECOND, "killed by signal 9")
    deliver(cast.team.id, failed.batch(), gone.batch())
    deliver(cast.team.id, failed.heartbeat(time.time_ns()), gone.heartbeat(time.time_ns()))
    assert state_of("f") == ("failed", "RuntimeError: out of memory\N{REPLACEMENT CHARACTER}")
    assert state_of("g") == ("lost", "killed by signal 9")


def test_what_an_attempt_said_of_its_end_outranks_what_its_shipper_saw(cast: Cast, start: int) -> None:
    worker = Recorder("w", began_ns=start)
    finish = worker.finish(start + SECOND).batch()
    gone = worker.gone(start + 2 * SECOND).batch(alive=False)
    deliver(cast.team.id, gone)
    assert state_of("w")[0] == "lost"
    deliver(cast.team.id, finish)
    assert state_of("w")[0] == "finished"
    assert Stream.objects.get().end_state == "finished"


def test_a_new_attempt_reopens_an_ended_run_and_old_words_change_nothing(cast: Cast, start: int) -> None:
    first = Recorder("w", began_ns=start, machine="m-1", rank=0)
    begun, finish = first.begin().batch(), first.finish(start + SECOND, "failed").batch(alive=False)
    deliver(cast.team.id, begun)
    second = Recorder("w", began_ns=start + 10 * SECOND, machine="m-2", rank=1)
    deliver(cast.team.id, second.begin().batch())
    deliver(cast.team.id, finish)
    worker, run = Worker.objects.get(), Run.objects.get()
    assert (worker.state, worker.attempt, worker.machine, worker.rank) == ("running", 1, "m-2", 1)
    assert (run.state, run.ended_at) == ("running", None)


def test_attempts_are_numbered_by_when_they_began_not_by_when_they_were_heard_of(cast: Cast, start: int) -> None:
    late = Recorder("w", began_ns=start)
    early = Recorder("w", began_ns=start + 10 * SECOND, machine="m-new")
    deliver(cast.team.id, early.begin().batch())
    deliver(cast.team.id, late.begin().batch(alive=False))
    attempts = dict(Stream.objects.values_list("uid", "attempt"))
    assert {uid.hex: attempt for uid, attempt in attempts.items()} == {late.stream: 0, early.stream: 1}
    assert (Worker.objects.get().attempt, Worker.objects.get().machine) == (1, "m-new")


def test_a_backlog_of_a_dead_writer_does_not_bring_it_back(cast: Cast, start: int) -> None:
    worker = Recorder("w", began_ns=start)
    deliver(cast.team.id, worker.begin().batch())
    silent_for(16)
    worker.phase("train", start, start + 1)
    deliver(cast.team.id, worker.batch(alive=False))
    assert state_of("w")[0] == "lost"


def test_a_worker_that_others_speak_for_lives_and_ends_with_them(cast: Cast, start: int) -> None:
    speaker = Recorder("coordinator", role="coordinator", began_ns=start)
    speaker.phase("encode", start, start + SECOND, round=0, worker="site-a")
    deliver(cast.team.id, speaker.batch())
    silent_for(11)
    assert state_of("site-a")[0] == "stale"
    deliver(cast.team.id, speaker.heartbeat(time.time_ns()))
    assert state_of("site-a")[0] == "running"
    deliver(cast.team.id, speaker.finish(start + 9 * SECOND).batch(alive=False))
    assert state_of("site-a")[0] == "finished"
    assert Run.objects.get().state == "finished"


def test_a_run_knows_when_and_on_which_days_it_was_heard_of(cast: Cast, start: int) -> None:
    worker = Recorder("w", began_ns=start)
    deliver(cast.team.id, worker.begin().batch())
    Run.objects.update(heard_at=timezone.now() - dt.timedelta(days=2), last_day=dt.date(2025, 1, 1))
    deliver(cast.team.id, worker.heartbeat(time.time_ns()))
    run = Run.objects.get()
    assert timezone.now() - run.heard_at < dt.timedelta(seconds=60)
    assert run.last_day == timezone.now().astimezone(dt.UTC).date()


def deliver_by_clock(cast: Cast, recorder: Recorder, ahead_ns: int, *, sender: str = "") -> None:
    """Deliver from a host whose wall clock is ahead, as the shipper of that boot (or of another) sends it."""
    sent = request(recorder.batch())
    sent.wall_ns, sent.machine = time.time_ns() + ahead_ns, sender or recorder.machine
    telemetry.write([check.job(cast.team.id, sent, time.time_ns())])


@pytest.mark.parametrize("ahead_s", [600, 0, -600])
def test_the_newest_attempt_is_the_latest_whatever_the_hosts_wall_clocks_say(
    cast: Cast, start: int, ahead_s: int
) -> None:
    first = Recorder("w", began_ns=start + ahead_s * SECOND, machine="wrong-clock").begin()
    second = Recorder("w", began_ns=start + 30 * SECOND, machine="right-clock").begin()
    third = Recorder("w", began_ns=start + (40 + ahead_s) * SECOND, machine="wrong-clock").begin()
    deliver_by_clock(cast, first, ahead_s * SECOND)
    deliver_by_clock(cast, second, 0)
    assert Worker.objects.get().machine == "right-clock"
    deliver_by_clock(cast, third, ahead_s * SECOND)
    assert Worker.objects.get().machine == "wrong-clock"
    newest = Stream.objects.order_by("-attempt").values_list("uid", flat=True)
    assert [uid.hex for uid in newest] == [third.stream, second.stream, first.stream]


def test_what_an_earlier_boot_recorded_keeps_its_own_times(cast: Cast, start: int) -> None:
    recorder = Recorder("w", began_ns=start, machine="earlier-boot").begin()
    deliver_by_clock(cast, recorder, 600 * SECOND, sender="this-boot")
    assert Stream.objects.get().began_at == dt.datetime.fromtimestamp(start // SECOND, dt.UTC).replace(
        microsecond=start % SECOND // 1000
    )
