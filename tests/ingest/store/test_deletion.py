"""Deleting runs: in slices with progress, by one at a time, and what their agents bring later is refused."""

import datetime as dt
import time

import pytest
from django.db import connection
from django.utils import timezone

from ingest import partitions, watch
from ingest.models import Deletion, Phase, Run, Sample, Series, Stream
from ingest.store import deletion, retention
from ingest.tasks import delete_run
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.batches import HostRecorder, Recorder
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(cast: Cast) -> Story:
    told = Story(cast.team, scenarios.healthy(4, 3))
    told.tell()
    return told


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_SLICE", 5)


def let_go(run_id: object) -> None:
    """Its holder died a while ago."""
    Deletion.objects.filter(pk=run_id).update(held_until=timezone.now() - dt.timedelta(seconds=1))


def test_each_slice_of_a_deletion_says_how_far_it_is(story: Story, small_slices: None) -> None:
    run = story.run
    rows = Phase.objects.filter(run_id=run.pk).count()
    seen = []
    assert deletion.begin(run.pk, within_s=-1.0) is False
    for _ in range(100):
        row = Deletion.objects.get(pk=run.pk)
        seen.append((row.rows_deleted, Phase.objects.filter(run_id=run.pk).count()))
        if deletion.go_on(run.pk, within_s=-1.0):
            break

    assert len(seen) > 5
    assert all(deleted + left == rows for deleted, left in seen if left)
    row = Deletion.objects.get(pk=run.pk)
    assert (row.name, row.project, row.key, row.team_id) == (run.name, run.project, run.key, run.team_id)
    assert row.rows_total >= rows
    assert row.rows_deleted >= rows
    assert row.done_at is not None
    assert not Run.objects.exists()
    assert deletion.unfinished() == []


def test_a_deletion_whose_worker_died_is_gone_on_with_and_by_one_at_a_time(story: Story, small_slices: None) -> None:
    run = story.run
    deletion.begin(run.pk, within_s=-1.0)
    before = Phase.objects.filter(run_id=run.pk).count()
    Deletion.objects.filter(pk=run.pk).update(held_until=timezone.now() + dt.timedelta(seconds=10))
    delete_run(str(run.pk))  # somebody is at it
    assert Phase.objects.filter(run_id=run.pk).count() == before

    let_go(run.pk)
    assert deletion.unfinished() == [run.pk]
    delete_run(str(run.pk))
    assert not Run.objects.exists()
    delete_run(str(run.pk))  # asked for twice
    assert Deletion.objects.get().done_at is not None


def test_what_a_spool_brings_late_of_a_deleted_run_is_refused_whether_it_was_heard_of_before(
    cast: Cast, story: Story
) -> None:
    known = story.recorders["rank-0"]
    unheard = Recorder("rank-9", run=story.key, began_ns=story.begin_ns + 10**9).begin()
    unheard.begin_round(0, story.at(1)).phase("train", story.at(1), story.at(2), round=0)
    other = Recorder("rank-9", run="another", began_ns=story.begin_ns).begin()
    others_team = Recorder("rank-9", run=story.key, began_ns=story.begin_ns).begin()
    late = known.event("late", story.at(3)).batch()

    assert deletion.begin(story.run.pk)

    results = store(cast.team, [late, unheard.batch(), other.batch()])
    assert [result.status for result in results] == ["deleted", "deleted", "stored"]
    assert [result.status for result in store(cast.other_team, [others_team.batch()])] == ["stored"]
    assert set(Run.objects.values_list("key", "team")) == {("another", cast.team.pk), (story.key, cast.other_team.pk)}
    assert not Phase.objects.filter(stream_id__in=Stream.objects.filter(deleted=True).values("pk")).exists()
    again = unheard.event("later still", story.at(4)).batch()
    assert [result.status for result in store(cast.team, [again])] == ["deleted"]


def test_a_training_that_begins_after_the_deletion_is_a_run_of_its_own(cast: Cast) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1), begin_ns=time.time_ns() - 3600 * 10**9)
    story.tell()
    gone = story.run.pk
    deletion.begin(gone)
    begun = Recorder("rank-0", run=story.key, began_ns=int(timezone.now().timestamp() * 1e9) + 10**9).begin()
    assert [result.status for result in store(cast.team, [begun.batch()])] == ["stored"]
    assert Run.objects.get().key == story.key
    assert Run.objects.get().pk != gone

    # What is left of the deleted one is still the deleted one's.
    left = Recorder("rank-7", run=story.key, began_ns=story.begin_ns + 10**9).begin().batch()
    assert [result.status for result in store(cast.team, [left])] == ["deleted"]


def test_nothing_joins_a_run_that_is_being_deleted(cast: Cast, story: Story, small_slices: None) -> None:
    run = story.run
    assert deletion.begin(run.pk, within_s=-1.0) is False
    now_ns = int(timezone.now().timestamp() * 1e9)
    joining = Recorder("rank-0", run=story.key, began_ns=now_ns).begin().phase("train", now_ns, now_ns + 10)
    assert [result.status for result in store(cast.team, [joining.batch()])] == ["deleted"]
    while not deletion.go_on(run.pk):
        pass
    assert not Phase.objects.filter(run_id=run.pk).exists()


def test_runs_go_when_nothing_was_heard_of_them_for_as_long_as_their_team_keeps_them(cast: Cast, story: Story) -> None:
    others = Story(cast.other_team, scenarios.healthy(2, 1))
    others.tell()
    today = timezone.now().date()
    long_ago = timezone.now() - dt.timedelta(days=40)
    Run.objects.update(heard_at=long_ago)
    assert retention.runs_too_old(today) == []  # for ever, where a team says nothing else

    cast.team.summary_days = 41
    cast.team.save()
    assert retention.runs_too_old(today) == []
    cast.team.summary_days = 39
    cast.team.save()
    assert retention.runs_too_old(today) == [story.run.pk]
    deletion.mark(story.run.pk)
    assert retention.runs_too_old(today) == []  # it is on its way
    assert deletion.unfinished() == [story.run.pk]


@pytest.mark.django_db(transaction=True)
def test_the_space_of_a_deleted_run_is_used_by_the_next(cast: Cast) -> None:
    def size(table: str) -> int:
        name = f"{table}_{timezone.now():%Y%m%d}"
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_relation_size(%s::regclass)", [name])
            return int(cursor.fetchone()[0])

    def tell(key: str) -> Run:
        story = Story(cast.team, scenarios.healthy(16, 10), key=key)
        story.tell()
        recorder = story.recorders["rank-0"]
        for step in range(3000):
            recorder.sample("loss", float(step), story.begin_ns + step)
        store(cast.team, [recorder.batch()])
        return story.run

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE ingest_phase, ingest_sample")  # what other tests left there
    first = tell("first")
    full = {table: size(table) for table in ("ingest_phase", "ingest_sample")}
    kept = tell("kept")
    both = {table: size(table) for table in full}
    assert all(both[table] > full[table] for table in full)
    assert deletion.begin(first.pk)
    assert Deletion.objects.get().reclaimed_at is None

    watch.reclaim()

    assert Deletion.objects.get().reclaimed_at is not None
    assert deletion.to_reclaim() == []
    tell("next")
    # Its rows differ a little in length: they may take a page more, not as much as the first run did.
    assert all(size(table) - both[table] <= (both[table] - full[table]) / 4 for table in full)
    assert Run.objects.filter(pk=kept.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_a_dropped_day_gives_its_space_back_to_the_disk(cast: Cast) -> None:
    long_ago = dt.date(2021, 3, 4)
    partitions.ensure(long_ago, days_ahead=0)
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_sample (series_id, stream_id, number, time_ns, value, arrived, round)
               SELECT 1, 1, n, n, 1.0, %s, 0 FROM generate_series(1, 50000) AS n""",
            [long_ago],
        )
        cursor.execute("SELECT pg_total_relation_size('ingest_sample_20210304'), pg_database_size(current_database())")
        partition, before = cursor.fetchone()
    assert partition > 4 << 20

    assert partitions.drop_before("ingest_sample", dt.date(2024, 1, 1)) == [long_ago]

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        assert before - cursor.fetchone()[0] > 0.9 * partition
    assert not Sample.objects.filter(arrived=long_ago).exists()


def test_samples_of_its_machines_stay_for_other_runs(cast: Cast, story: Story) -> None:
    host = HostRecorder(machine="machine-0", began_ns=story.begin_ns)
    store(cast.team, [host.sample("cpu", 1.0, story.at(2)).batch()])
    series = Series.objects.get(metric="cpu")
    deletion.begin(story.run.pk)
    assert Sample.objects.filter(series_id=series.pk).count() == 1


def test_the_watcher_asks_for_what_is_left(
    cast: Cast, story: Story, small_slices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(watch, "start", lambda *told: asked.append(told) or True)
    deletion.begin(story.run.pk, within_s=-1.0)
    watch.go_on_deleting()
    assert asked == [("ingest.delete_run", str(story.run.pk))]
