"""Phases that are slow while they run: found in the database, told once, resolved, and joined by the closed verdict."""

import datetime as dt
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.utils import timezone

from ingest import watch, watch_open
from ingest.feed import deadlines, frames
from ingest.feed.frames import FrameType
from ingest.feed.publisher import feed_key
from ingest.models import Finding, Outbox, Stream, Worker
from ingest.store import rounds, thresholds
from ingest.tasks import judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.playing import Playing, eventually, playing
from tests.ingest.storing import store

pytestmark = pytest.mark.django_db(transaction=True)

SIXTEEN = scenarios.two_slow_encoders(4)
ENCODES_AT = SIXTEEN.rounds[-1][0] + 30.0
SLOW_WORKERS = ["rank-6", "rank-7"]


def look(*, since_ns: int = 0) -> None:
    """As a watcher that has just begun, and remembers nothing."""
    watch_open.OpenPhases(since_ns=since_ns).look()


def found(play: Playing, kind: str = "slow_phase") -> list[Finding]:
    return list(Finding.objects.filter(run=play.story.run, kind=kind))


def told(play: Playing) -> list[tuple[FrameType, Any]]:
    """The JSON frames that viewers of the run were sent."""
    entries: Any = redis.Redis.from_url(settings.REDIS_URL).xrange(feed_key(play.story.run.pk))
    decoded = [frame for _, fields in entries for frame in frames.decode(fields[b"f"])]
    return [(kind, payload["json"]) for kind, payload in decoded if "json" in payload]


def amber(play: Playing) -> set[int]:
    """The lanes whose bars the newest word on it calls amber."""
    said = [meta["amber"] for kind, meta in told(play) if kind is FrameType.META and "amber" in meta]
    return {lane for _, _, lane in said[-1]} if said else set()


def lanes(play: Playing, names: list[str]) -> set[int]:
    return set(Worker.objects.filter(run=play.story.run, name__in=names).values_list("index", flat=True))


def test_first_their_bars_turn_amber_then_a_finding_opens_and_it_is_over_when_they_end(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)

    play.upto(ENCODES_AT + 2.5)
    look()
    assert (amber(play), found(play)) == (set(), [])

    play.upto(ENCODES_AT + 3.8)
    look()
    assert (amber(play), found(play)) == (lanes(play, SLOW_WORKERS), [])

    play.upto(ENCODES_AT + 5.0)
    look()
    (finding,) = found(play)
    assert (finding.state, finding.workers, finding.phase, finding.rounds) == ("open", SLOW_WORKERS, "encode", [3])
    assert finding.observed.startswith("encode still runs on rank-6 and rank-7 after 5.0 s; 14 of 15 peers")
    assert {lane for _, _, lane, _ in finding.spans} == lanes(play, SLOW_WORKERS)
    assert [row for kind, rows in told(play) if kind is FrameType.FINDING for row in rows][-1]["id"] == str(finding.pk)

    play.upto(ENCODES_AT + 17.9)
    look()
    (left,) = found(play)
    assert (left.state, left.workers, left.opened_at) == ("open", ["rank-7"], finding.opened_at)
    assert left.spans == finding.spans

    play.upto(ENCODES_AT + 18.1)
    look()
    (over,) = found(play)
    assert (over.pk, over.state) == (finding.pk, "resolved")
    assert over.observed.startswith("It is over. ")
    assert amber(play) == set()
    assert Finding.objects.filter(run=play.story.run).count() == 1


def test_what_its_closed_round_says_joins_the_finding_that_was_told(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)
    play.upto(ENCODES_AT + 5.0)
    look()
    play.end()
    rounds.close_ended(play.story.run.pk)
    judge_round(str(play.story.run.pk), 3, 0)
    look()

    (finding,) = found(play)
    assert finding.state == "resolved"
    assert finding.observed.startswith("encode took 17.8 s on rank-6 and 18.0 s on rank-7")
    assert finding.workers == SLOW_WORKERS
    assert finding.evidence["cohorts"]
    assert found(play, "straggler") == []


def test_late_records_that_show_nothing_slow_take_the_closed_verdict_back(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)
    play.upto(ENCODES_AT + 5.0)
    look()
    play.end()
    rounds.close_ended(play.story.run.pk)
    judge_round(str(play.story.run.pk), 3, 0)
    (told_of,) = found(play)
    # What looked like encoding was mostly a wait nested in it, of which its host told later.
    for _, start, lane, _ in told_of.spans:
        recorder = play.story.recorders[Worker.objects.get(run=play.story.run, index=lane).name]
        begin_ns, end_ns = play.story.at(ENCODES_AT + 1), play.story.at(ENCODES_AT + 17)
        store(cast.team, [recorder.phase("wait", begin_ns, end_ns, round=3, parent=start).batch()])
    rounds.close_ended(play.story.run.pk)
    judge_round(str(play.story.run.pk), 3, 0)

    (finding,) = found(play)
    assert (finding.state, finding.workers, finding.spans) == ("resolved", [], [])
    assert finding.observed == "Records that came later show no slow worker."


def test_nothing_is_said_of_a_phase_that_was_not_reported_open_after_its_limit(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN, at_s=ENCODES_AT + 9)  # by the server's clock the limit is long past
    play.upto(ENCODES_AT + 3.0)
    look()

    assert found(play) == []


def test_without_redis_the_scan_finds_it_and_with_it_a_deadline_is_set(cast: Cast) -> None:
    client = redis.Redis.from_url(settings.REDIS_URL)
    play = playing(cast.team, SIXTEEN, at_s=ENCODES_AT - 60)  # by a clock that is ahead of the server's
    play.upto(ENCODES_AT + 2.5)
    look()
    due_s = client.zscore(deadlines.KEY, str(play.story.run.pk))
    assert due_s is not None
    assert 2.9 < due_s - play.story.at(ENCODES_AT) / 1e9 < 3.4  # when their bars are to turn amber

    client.flushdb()
    play.upto(ENCODES_AT + 5.0)
    client.delete(deadlines.KEY)
    look()

    assert len(found(play)) == 1


def test_the_runs_that_are_due_are_taken_once_and_the_earliest_time_counts(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)
    run = play.story.run.pk
    redis.Redis.from_url(settings.REDIS_URL).delete(deadlines.KEY)
    deadlines.look_at(run, 100.0)
    deadlines.look_at(run, 200.0)

    assert deadlines.take_due(99.0) == []
    assert deadlines.take_due(101.0) == [run]
    assert deadlines.take_due(300.0) == []


def test_a_finding_asks_each_process_for_its_stacks_once_and_shows_them(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)
    play.upto(ENCODES_AT + 5.0)
    look()

    rows = Stream.objects.filter(run=play.story.run, asked__isnull=False)
    asked: dict[str, Any] = dict(rows.values_list("worker__name", "asked"))
    assert set(asked) == set(SLOW_WORKERS)
    (finding,) = found(play)
    starts = {start for _, start, _, _ in finding.spans}
    assert {wish["start"] for wish in asked.values()} == starts

    recorder = play.story.recorders["rank-6"]
    frame = ["model.py", 12, "pack"]
    recorder.event(
        "stacks", play.story.at(ENCODES_AT + 5.5), round=3, start=asked["rank-6"]["start"],
        threads=[{"name": "MainThread", "frames": [frame], "more": 0}],
    )  # fmt: skip
    play.upto(ENCODES_AT + 6.0)
    look()
    look()

    (finding,) = found(play)
    (stacks,) = finding.evidence["stacks"]
    assert stacks["threads"] == [{"name": "MainThread", "frames": [frame]}]
    assert not Stream.objects.filter(run=play.story.run, asked__isnull=False).exists()


def test_a_silent_worker_is_lost_only_to_a_watcher_that_has_listened_for_long_enough(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)
    play.upto(ENCODES_AT + 5.0)
    quiet = timezone.now() - dt.timedelta(seconds=17)
    Worker.objects.filter(run=play.story.run, name="rank-6").update(last_seen=quiet)

    look(since_ns=time.time_ns())
    assert found(play, "worker_lost") == []
    (slow,) = found(play)
    assert slow.workers == SLOW_WORKERS

    look()
    (lost,) = found(play, "worker_lost")
    assert (lost.state, lost.severity, lost.workers) == ("open", "critical", ["rank-6"])
    (slow,) = found(play)
    assert slow.workers == ["rank-7"]

    look(since_ns=time.time_ns())
    assert found(play, "worker_lost")[0].state == "open"
    play.upto(ENCODES_AT + 6.0)
    look()
    assert found(play, "worker_lost")[0].state == "resolved"


def test_another_teams_run_of_the_same_name_neither_counts_nor_is_named(cast: Cast) -> None:
    ours = playing(cast.team, SIXTEEN)
    theirs = playing(cast.other_team, SIXTEEN)
    ours.upto(ENCODES_AT + 1.0)
    theirs.upto(ENCODES_AT + 5.0)
    look()

    assert [(row.run_id, row.workers) for row in Finding.objects.all()] == [(theirs.story.run.pk, SLOW_WORKERS)]


def test_one_run_that_cannot_be_looked_at_leaves_the_others_watched(cast: Cast) -> None:
    broken, sound = playing(cast.team, SIXTEEN, key="broken"), playing(cast.team, SIXTEEN, key="sound")
    for play in (broken, sound):
        play.upto(ENCODES_AT + 5.0)
    stream = Stream.objects.filter(run=broken.story.run, opens__contains=[{"name": "encode"}]).first()
    assert stream is not None
    Stream.objects.filter(pk=stream.pk).update(opens=[{"name": "encode"}])
    look()

    assert [row.run_id for row in Finding.objects.all()] == [sound.story.run.pk]


def test_who_has_not_begun_what_its_peers_ended_is_missing_unless_it_ended_the_round_without(cast: Cast) -> None:
    whole = scenarios.exchange("no encode", scenarios.crew(8), rounds=5, train=30.0, encode=2.0)
    left_out = {(who, name, 4) for who in ("rank-2", "rank-3") for name in ("encode", "upload", "apply")}
    did = tuple(did for did in whole.phases if (did.worker, did.name, did.round) not in left_out)
    play = playing(cast.team, replace(whole, phases=did))
    begin_s = whole.rounds[-1][0]
    play.upto(begin_s + 36)
    other = play.story.recorders["rank-2"].end_round(4, play.story.at(begin_s + 36))
    store(cast.team, [other.batch()])
    look()

    (finding,) = found(play, "missing")
    assert (finding.phase, finding.workers, finding.rounds) == ("encode", ["rank-3"], [4])
    # It goes on to the next round without a word, while somebody still uploads what belongs to this one.
    end_ns = play.story.at(whole.rounds[-1][1])
    play.story.recorders["rank-3"].begin_round(5, end_ns)
    play.story.recorders["rank-0"].open("upload", end_ns, round=4)
    play.end(but=("rank-3",))
    assert [one.index for one in rounds.close_ended(play.story.run.pk)] == [4]
    look()
    assert found(play, "missing")[0].state == "resolved"


def leads(lock: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = %s)", [lock])
        return bool(cursor.fetchone()[0])


def test_it_is_found_ten_seconds_before_the_end_and_told_once_though_the_watcher_is_killed_and_redis_is_lost(
    cast: Cast, process: Callable[..., subprocess.Popen[bytes]], asked: Callable[[], int]
) -> None:
    first = process("manage.py", "watch")
    eventually(lambda: leads(watch.OPEN_LOCK), within_s=60)
    play = playing(cast.team, SIXTEEN, at_s=ENCODES_AT + 2.4)

    def at_s() -> float:
        return (time.time_ns() - play.story.begin_ns) / 1e9

    def goes_on(condition: Callable[[], object]) -> bool:
        """Whether it has come about; the training goes on meanwhile, and is told of as an agent would."""
        play.upto(min(at_s(), ENCODES_AT + 17.0))
        time.sleep(0.15)
        return bool(condition())

    eventually(lambda: goes_on(lambda: found(play)), within_s=15)
    found_at_s = at_s()
    (finding,) = found(play)
    assert finding.workers == SLOW_WORKERS
    assert found_at_s < ENCODES_AT + 17.8 - 10

    first.kill()
    first.wait()
    redis.Redis.from_url(settings.REDIS_URL).flushdb()
    process("manage.py", "watch")
    process("-m", "celery", "-A", "dashboard.project.celery", "worker", "--pool", "solo", "--loglevel", "WARNING")
    eventually(lambda: goes_on(lambda: found(play)[0].version > finding.version), within_s=60)
    play.end()
    eventually(lambda: "cohorts" in found(play)[0].evidence, within_s=60)

    (over,) = found(play)
    assert (over.pk, over.state, over.workers) == (finding.pk, "resolved", SLOW_WORKERS)
    assert Finding.objects.filter(run=play.story.run).exclude(severity="info").count() == 1
    told_of = Outbox.objects.filter(finding=over).order_by("pk").values_list("happened", flat=True)
    assert list(told_of) == ["opened", "resolved"]


def test_what_is_set_for_a_run_is_used_by_the_very_next_look(cast: Cast) -> None:
    play = playing(cast.team, SIXTEEN)
    watcher = watch_open.OpenPhases(since_ns=0)
    thresholds.change(cast.team.pk, play.story.run, {"slow_phase.slow_share": 50.0}, cast.owner.pk)
    play.upto(ENCODES_AT + 5.0)
    watcher.look()
    assert found(play) == []

    thresholds.change(cast.team.pk, play.story.run, {"slow_phase.slow_share": 1.0}, cast.owner.pk)
    eventually(lambda: watcher.look() or found(play))

    (finding,) = found(play)
    assert [(told["key"], told["value"]) for told in finding.evidence["thresholds"]] == [("slow_phase.slow_share", 1.0)]
