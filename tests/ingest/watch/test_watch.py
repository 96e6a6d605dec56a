"""The watcher: what time alone brings about, by one leader, through lost tasks and lost connections."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.utils import timezone

from ingest import partitions, watch
from ingest.feed.starting import MOST_WAITING
from ingest.models import Finding, Phase, Round, RunFigures, Sample, Stream, Worker
from ingest.queries.unjudged import unjudged
from ingest.store import retention, rounds, run_figures
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.batches import HostRecorder
from tests.ingest.playing import eventually
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def watching(watcher: watch.Watcher) -> Iterator[threading.Event]:
    stopped = threading.Event()
    thread = threading.Thread(target=watcher.run, args=(stopped,))
    thread.start()
    try:
        yield stopped
    finally:
        stopped.set()
        thread.join(20)
    assert not thread.is_alive()


def test_what_is_over_is_closed_and_its_judgement_asked_for(cast: Cast, asked: Callable[[], int]) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    for index in (0, 1):
        store(cast.team, [story.round_of(name, index) for name in story.recorders])
    assert Round.objects.filter(closed=True).count() == 0

    watch.close_rounds()

    assert Round.objects.filter(closed=True).count() == 2
    assert asked() == 2
    watch.close_rounds()
    assert asked() == 2


def test_a_lost_judgement_is_asked_for_after_a_while_and_not_all_the_time(cast: Cast, asked: Callable[[], int]) -> None:
    Story(cast.team, scenarios.two_slow_encoders()).tell()
    now = [100.0]
    asking = watch.Unjudged(clock=lambda: now[0])

    counts = []
    for moment in (100.0, 101.9, 102.0, 103.0, 116.9, 117.0):
        now[0] = moment
        asking.scan()
        counts.append(asked())

    assert counts == [0, 0, 2, 2, 2, 4]
    Round.objects.update(verdict_version=99)
    Round.objects.update(data_version=99)
    now[0] = 200.0
    asking.scan()
    assert asked() == 4


def test_what_found_no_room_is_asked_for_with_the_next_scan(cast: Cast, asked: Callable[[], int]) -> None:
    Story(cast.team, scenarios.two_slow_encoders()).tell()
    now = [100.0]
    asking = watch.Unjudged(clock=lambda: now[0])
    asking.scan()
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.rpush("celery", *range(MOST_WAITING))
    now[0] = 102.0
    asking.scan()
    assert asked() == MOST_WAITING
    client.delete("celery")
    now[0] = 104.0
    asking.scan()
    assert asked() == 2


def test_the_newest_rounds_of_all_runs_are_judged_before_older_ones(cast: Cast) -> None:
    long = Story(cast.team, scenarios.two_slow_encoders(4), key="long")
    short = Story(cast.team, scenarios.two_slow_encoders(2), key="short")
    short.tell()
    long.tell()

    assert [(one.run_id, one.index) for one in unjudged(5)] == [
        (long.run.pk, 3), (short.run.pk, 1), (long.run.pk, 2), (short.run.pk, 0), (long.run.pk, 1),
    ]  # fmt: skip


def test_newer_data_is_given_its_own_while(cast: Cast, asked: Callable[[], int]) -> None:
    Story(cast.team, scenarios.two_slow_encoders(1)).tell()
    now = [100.0]
    asking = watch.Unjudged(clock=lambda: now[0])
    asking.scan()
    Round.objects.update(data_version=7)
    now[0] = 103.0
    asking.scan()
    assert asked() == 0
    now[0] = 105.0
    asking.scan()
    assert asked() == 1


def test_silence_turns_workers_lost_and_their_round_is_closed(cast: Cast, asked: Callable[[], int]) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell(0)
    story.tell(1, but=["rank-6"])
    store(cast.team, [story.recorders["rank-6"].begin_round(1, story.at(story.scenario.rounds[1][0])).batch()])
    assert rounds.close_ended(story.run.pk) == []
    Worker.objects.filter(name="rank-6").update(last_seen=timezone.now() - timezone.timedelta(seconds=16))

    watch.sweep()
    assert Worker.objects.get(name="rank-6").state == "lost"
    watch.close_rounds()

    assert Round.objects.get(run=story.run, index=1).closed


def test_incidents_of_ended_runs_are_resolved(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()
    story.finish()
    now = timezone.now()
    Finding.objects.create(run=story.run, kind="straggler", fingerprint="straggler:x", opened_at=now, updated_at=now)

    watch.resolve_findings()

    assert Finding.objects.get().state == "resolved"


def test_days_are_made_ahead_and_dropped_when_their_time_is_over(cast: Cast) -> None:
    today = timezone.now().date()
    old_phases, old_samples = (today - timezone.timedelta(days=days + 1) for days in (90, 14))
    partitions.ensure(old_phases, 0)
    partitions.ensure(old_samples, 0)

    watch.keep_days()

    assert old_phases not in partitions.existing("ingest_phase")
    assert old_samples in partitions.existing("ingest_phase")
    assert old_samples not in partitions.existing("ingest_sample")
    assert {today + timezone.timedelta(days=ahead) for ahead in range(4)} <= set(partitions.existing("ingest_sample"))
    for table in partitions.TABLES:
        partitions.drop_before(table, today)


def test_a_teams_shorter_retention_deletes_its_rows_and_no_others(cast: Cast) -> None:
    kept = Story(cast.other_team, scenarios.two_slow_encoders(1))
    story = Story(cast.team, scenarios.two_slow_encoders(1))
    today = timezone.now().date()
    for each in (kept, story):
        each.tell()
        host = HostRecorder(machine="machine-3", began_ns=each.begin_ns)
        store(each.team, [host.sample("cpu", 1.0, each.begin_ns).batch()])
    cast.team.phase_days = cast.team.sample_days = 3
    cast.team.save()

    assert retention.delete_for_teams(today + timezone.timedelta(days=3)) == 0
    assert retention.delete_for_teams(today + timezone.timedelta(days=4)) == 16 * 4 + 1 + 1
    assert Phase.objects.filter(run_id=story.run.pk).count() == 0
    assert Phase.objects.filter(run_id=kept.run.pk).count() == 16 * 4 + 1
    ours = Stream.objects.filter(team__in=[cast.team, cast.other_team]).values("pk")
    assert Sample.objects.filter(stream_id__in=ours).count() == 1


def test_one_watcher_leads_and_another_takes_over(cast: Cast) -> None:
    turns: list[str] = []
    first = watch.Watcher([watch.Chore("first", 0.0, lambda: turns.append("first"))], 99_001, tick_s=0.02)
    second = watch.Watcher([watch.Chore("second", 0.0, lambda: turns.append("second"))], 99_001, tick_s=0.02)

    with watching(first) as stopped:
        eventually(lambda: len(turns) > 3)
        with watching(second):
            seen = len(turns)
            eventually(lambda: len(turns) > seen + 10)
            assert set(turns) == {"first"}
            stopped.set()
            eventually(lambda: turns[-1] == "second")


def test_a_cut_connection_interrupts_the_watch_and_does_not_end_it(cast: Cast) -> None:
    done: list[int] = []
    watcher = watch.Watcher([watch.Chore("count", 0.0, lambda: done.append(Round.objects.count()))], 99_002)

    with watching(watcher):
        eventually(lambda: done)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        seen = len(done)
        eventually(lambda: len(done) > seen + 2)


def test_a_chore_that_fails_leaves_the_others_running(cast: Cast) -> None:
    done: list[int] = []

    def fail() -> None:
        raise RuntimeError("this one always fails")

    chores = [watch.Chore("fails", 0.1, fail), watch.Chore("works", 0.0, lambda: done.append(1))]
    with watching(watch.Watcher(chores, 99_003, tick_s=0.02)):
        eventually(lambda: len(done) > 3)


def test_the_command_watches_and_a_worker_judges_without_anybody_else(
    cast: Cast, process: Callable[..., subprocess.Popen[bytes]], asked: Callable[[], int]
) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    for index in (0, 1):
        store(cast.team, [story.round_of(name, index) for name in story.recorders])
    watcher = process("manage.py", "watch")
    process("-m", "celery", "-A", "dashboard.project.celery", "worker", "--pool", "solo", "--loglevel", "WARNING")

    eventually(lambda: Finding.objects.filter(run=story.run, kind="straggler").exists(), within_s=60)
    assert Finding.objects.get(run=story.run, kind="straggler").workers == ["rank-6", "rank-7"]

    watcher.send_signal(signal.SIGTERM)
    assert watcher.wait(5) == 0


def test_runs_that_are_due_have_their_task_started_and_of_each_not_all_the_time(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()
    asked: list[str] = []
    takes = [True]

    def taken(name: str, run_id: str) -> bool:
        assert name == "ingest.sum_up_run"
        asked.append(run_id)
        return takes[0]

    monkeypatch.setattr("ingest.watch.start", taken)
    now = [100.0]
    due = watch.DueRuns(run_figures.TASK, run_figures.due, clock=lambda: now[0])
    due.scan()
    assert asked == []
    run_figures.ask(story.run.pk)
    due.scan()
    assert asked == []
    RunFigures.objects.update(due_at=timezone.now())
    for later, times in ((0, 1), (5, 1), (15, 2), (20, 2)):
        now[0] = 100.0 + later
        due.scan()
        assert asked == [str(story.run.pk)] * times
    takes[0] = False
    now[0] = 200.0
    due.scan()
    due.scan()
    assert len(asked) == 4
