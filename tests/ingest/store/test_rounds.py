"""When a round is over, which generation a replay belongs to, and what late data does."""

import datetime as dt
import time

import pytest
from django.utils import timezone

from ingest.models import Phase, Round, Run, Worker, WorkerRound
from ingest.store import states
from ingest.store.rounds import close, close_ended
from tests.cast import Cast
from tests.ingest.batches import SECOND, Recorder, steady_round
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db


@pytest.fixture
def start() -> int:
    """Two minutes ago."""
    return time.time_ns() - 120 * SECOND


def trainers(count: int, start: int) -> list[Recorder]:
    """Trainers that began at `start`."""
    return [Recorder(f"trainer-{place}", began_ns=start) for place in range(count)]


def generations(index: int) -> list[tuple[int, bool]]:
    """(generation, closed) of a round."""
    return list(Round.objects.filter(index=index).order_by("generation").values_list("generation", "closed"))


def closed_now() -> list[tuple[int, int]]:
    """(index, generation) of the rounds that close now."""
    return [(each.index, each.generation) for each in close_ended(Run.objects.get().id)]


def test_a_round_closes_when_every_worker_that_began_it_has_ended_it(cast: Cast, start: int) -> None:
    first, second = trainers(2, start)
    second.begin_round(0, start)
    first.begin_round(0, start).phase("train", start, start + SECOND, round=0).end_round(0, start + 2 * SECOND)
    deliver(cast.team.id, first.batch(), second.batch())
    assert closed_now() == []
    second.end_round(0, start + 3 * SECOND)
    deliver(cast.team.id, second.batch(), first.heartbeat(start + 3 * SECOND))
    assert closed_now() == [(0, 0)]
    row = Round.objects.get()
    assert (row.closed, row.begin_ns, row.end_ns, row.trainers) == (True, start, start + 3 * SECOND, 2)
    assert closed_now() == []


def test_a_round_waits_until_every_running_worker_was_heard_after_its_end(cast: Cast, start: int) -> None:
    first, second = trainers(2, start)
    deliver(cast.team.id, second.begin().batch())
    first.begin_round(0, start).end_round(0, start + 2 * SECOND)
    deliver(cast.team.id, first.batch())
    assert close(Run.objects.get().id).waiting
    assert generations(0) == [(0, False)]
    deliver(cast.team.id, second.heartbeat(start + 2 * SECOND))
    assert closed_now() == [(0, 0)]


def test_a_round_that_a_clock_set_back_since_saw_end_in_times_to_come_waits_for_nobody(cast: Cast) -> None:
    now = time.time_ns()
    first, second = trainers(2, now)
    deliver(cast.team.id, second.begin().batch())
    first.begin_round(0, now).end_round(0, now + 300 * SECOND)
    deliver(cast.team.id, first.batch(), second.heartbeat(now))
    assert closed_now() == [(0, 0)]


def test_a_worker_that_has_begun_the_next_round_is_through_with_this_one(cast: Cast, start: int) -> None:
    (worker,) = trainers(1, start)
    worker.begin_round(0, start).begin_round(1, start + 4 * SECOND)
    deliver(cast.team.id, worker.batch())
    assert closed_now() == [(0, 0)]
    assert Round.objects.get(index=0).end_ns == start + 4 * SECOND


def test_a_worker_that_is_gone_holds_nobody_up(cast: Cast, start: int) -> None:
    first, second = trainers(2, start)
    second.begin_round(0, start).phase("train", start, start + SECOND, round=0)
    first.begin_round(0, start).end_round(0, start + 2 * SECOND)
    deliver(cast.team.id, first.batch(), second.batch())
    assert closed_now() == []
    deliver(cast.team.id, second.gone(start + 4 * SECOND).batch(alive=False))
    assert closed_now() == [(0, 0)]
    assert Round.objects.get().end_ns == start + 2 * SECOND


def test_a_worker_lost_in_silence_holds_nobody_up(cast: Cast, start: int) -> None:
    first, second = trainers(2, start)
    second.begin_round(0, start)
    first.begin_round(0, start).end_round(0, start + 2 * SECOND)
    deliver(cast.team.id, first.batch(), second.batch())
    states.sweep(timezone.now() + dt.timedelta(seconds=16))
    assert closed_now() == [(0, 0)]


def test_late_phases_reopen_a_closed_round_and_it_closes_anew_with_newer_data(cast: Cast, start: int) -> None:
    first, second = trainers(2, start)
    deliver(cast.team.id, *steady_round([first], 0, start))
    assert closed_now() == [(0, 0)]
    version = Round.objects.get().data_version
    deliver(
        cast.team.id, *steady_round([second], 0, start, slow={"trainer-1": 9}), first.heartbeat(start + 60 * SECOND)
    )
    assert closed_now() == [(0, 0)]
    row = Round.objects.get()
    assert row.data_version > version
    assert (row.trainers, row.end_ns) == (2, start + int(14.5 * SECOND))


def test_only_the_rounds_asked_for_are_closed(cast: Cast, start: int) -> None:
    (worker,) = trainers(1, start)
    deliver(cast.team.id, *steady_round([worker], 0, start), *steady_round([worker], 1, start + 10 * SECOND))
    assert [each.index for each in close_ended(Run.objects.get().id, [1])] == [1]
    assert generations(0) == [(0, False)]


def test_a_restart_that_replays_an_ended_round_makes_a_new_generation(cast: Cast, start: int) -> None:
    (before,) = trainers(1, start)
    deliver(cast.team.id, *steady_round([before], 0, start), *steady_round([before], 1, start + 10 * SECOND))
    closed_now()
    after = Recorder("trainer-0", began_ns=start + 30 * SECOND)
    deliver(cast.team.id, *steady_round([after], 1, start + 31 * SECOND))
    assert generations(1) == [(0, True), (1, False)]
    assert closed_now() == [(1, 1)]
    assert generations(0) == [(0, True)]


def test_both_attempts_in_one_request_are_told_apart_too(cast: Cast, start: int) -> None:
    before, after = Recorder(began_ns=start), Recorder(began_ns=start + 30 * SECOND)
    later = steady_round([after], 0, start + 31 * SECOND)
    deliver(cast.team.id, *later, *steady_round([before], 0, start))
    assert generations(0) == [(0, False), (1, False)]
    parts = WorkerRound.objects.order_by("round__generation").values_list("begin_ns", flat=True)
    assert list(parts) == [start, start + 31 * SECOND]


def test_the_peers_of_a_restart_join_its_generation(cast: Cast, start: int) -> None:
    before, after = trainers(3, start), trainers(3, start + 30 * SECOND)
    deliver(cast.team.id, *steady_round(before, 0, start))
    closed_now()
    for worker in after:
        deliver(cast.team.id, *steady_round([worker], 0, start + 31 * SECOND))
    assert [generation for generation, _ in generations(0)] == [0, 1]
    assert WorkerRound.objects.filter(round__generation=1).count() == 3


def test_a_restart_within_an_unfinished_round_joins_it(cast: Cast, start: int) -> None:
    first, second = trainers(2, start)
    first.begin_round(3, start)
    second.begin_round(3, start)
    deliver(cast.team.id, first.gone(start + SECOND).batch(alive=False), second.batch())
    again = Recorder("trainer-0", began_ns=start + 2 * SECOND).begin_round(3, start + 3 * SECOND)
    deliver(cast.team.id, again.batch())
    assert generations(3) == [(0, False)]
    assert WorkerRound.objects.filter(round__index=3).count() == 3


def test_a_slow_peer_that_reports_after_the_close_joins_the_round(cast: Cast, start: int) -> None:
    fast, slow = trainers(2, start)
    deliver(cast.team.id, *steady_round([fast], 0, start))
    closed_now()
    deliver(cast.team.id, *steady_round([slow], 0, start))
    assert [generation for generation, _ in generations(0)] == [0]


def test_records_of_an_earlier_attempt_that_come_late_stay_in_its_generation(cast: Cast, start: int) -> None:
    before, peer = trainers(2, start)
    deliver(cast.team.id, *steady_round([peer], 0, start))
    replay = Recorder("trainer-1", began_ns=start + 30 * SECOND)
    deliver(cast.team.id, *steady_round([replay], 0, start + 31 * SECOND))
    again = Recorder("trainer-0", began_ns=start + 30 * SECOND)
    deliver(cast.team.id, *steady_round([again], 0, start + 31 * SECOND))
    deliver(cast.team.id, *steady_round([before], 0, start))
    where = dict(WorkerRound.objects.values_list("stream__uid", "round__generation"))
    by_uid = {uid.hex: generation for uid, generation in where.items()}
    assert [by_uid[each.stream] for each in (before, peer, replay, again)] == [0, 0, 1, 1]


def test_phases_recorded_for_another_worker_give_it_a_part(cast: Cast, start: int) -> None:
    coordinator = Recorder("coordinator", role="coordinator", began_ns=start).begin_round(0, start)
    coordinator.phase("encode", start, start + SECOND, round=0, worker="site-a")
    coordinator.phase("upload", start + SECOND, start + 3 * SECOND, round=0, worker="site-a")
    deliver(cast.team.id, coordinator.batch())
    part = WorkerRound.objects.get(worker=Worker.objects.get(name="site-a"))
    assert (part.begin_ns, part.end_ns, part.derived) == (start, start + 3 * SECOND, True)
    assert closed_now() == []
    deliver(cast.team.id, coordinator.end_round(0, start + 4 * SECOND).batch())
    assert closed_now() == [(0, 0)]
    assert Round.objects.get().trainers == 1


def test_a_recorded_begin_outranks_what_phases_said(cast: Cast, start: int) -> None:
    (worker,) = trainers(1, start)
    worker.phase("train", start + SECOND, start + 2 * SECOND, round=0)
    deliver(cast.team.id, worker.batch())
    assert WorkerRound.objects.get().derived
    worker.begin_round(0, start).end_round(0, start + 3 * SECOND)
    deliver(cast.team.id, worker.batch())
    part = WorkerRound.objects.get()
    assert (part.derived, part.begin_ns, part.end_ns) == (False, start, start + 3 * SECOND)
    assert Phase.objects.filter(round=0, run_id=Run.objects.get().id).count() == 1


def test_a_finished_run_closes_what_it_left_open(cast: Cast, start: int) -> None:
    (worker,) = trainers(1, start)
    worker.begin_round(0, start).phase("train", start, start + SECOND, round=0).finish(start + 2 * SECOND)
    deliver(cast.team.id, worker.batch(alive=False))
    assert closed_now() == [(0, 0)]
    assert Round.objects.get().end_ns == start + SECOND


@pytest.mark.django_db(transaction=True)
def test_a_round_taken_away_behind_our_back_is_made_again(cast: Cast, start: int) -> None:
    (worker,) = trainers(1, start)
    deliver(cast.team.id, worker.begin_round(0, start).batch())
    WorkerRound.objects.all().delete()
    Round.objects.all().delete()
    deliver(cast.team.id, worker.end_round(0, start + SECOND).batch())
    part = WorkerRound.objects.get()
    assert (part.round.index, part.end_ns, part.derived) == (0, start + SECOND, False)


def test_a_replay_in_the_same_request_as_the_end_before_it_opens_a_generation(cast: Cast, start: int) -> None:
    first, second = trainers(1, start)[0], trainers(1, start + 5 * SECOND)[0]
    deliver(cast.team.id, first.begin_round(0, start).batch())
    first.end_round(0, start + SECOND)
    second.begin_round(0, start + 6 * SECOND)
    deliver(cast.team.id, first.batch(), second.batch())
    assert [generation for generation, _ in generations(0)] == [0, 1]
