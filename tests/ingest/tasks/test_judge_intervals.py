"""Intervals that a team asks for: measured when a round closes, judged, and judged anew when they change."""

import pytest

from ingest.detection import interval_checks, named_intervals
from ingest.feed.connection import client
from ingest.feed.starting import MOST_WAITING, QUEUE
from ingest.models import Analysis, Finding, Interval, IntervalsDue, Outbox, Run
from ingest.queries import intervals, judging_windows
from ingest.store import deletion
from ingest.store import intervals as store
from ingest.tasks import judge_intervals, judge_round
from ingest.watch import DueRuns
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db


def told(cast: Cast, rounds: int = 3, key: str = "run-1") -> Story:
    """Two trainers that train 30 s and apply 13 s, told and judged."""
    made = scenarios.exchange("exchange", scenarios.crew(2), rounds=rounds, train=30.0, encode=2.0)
    story = Story(cast.team, made, key=key)
    story.tell()
    return story


def judge(story: Story, *indexes: int) -> None:
    for index in indexes:
        judge_round(str(story.run.pk), index, 0)


def asked(run: Run, most_s: float | None, *, own: bool = True, name: str = "apply") -> Interval:
    """From the last aggregation to the last that has applied."""
    row = Interval(
        team_id=run.team_id, project=run.project, run=run if own else None, name=name, most_s=most_s,
        begin_name="aggregate", end_which="last", end_of="end", end_name="apply",
    )  # fmt: skip
    store.save(row, run)
    return row


def found(run: Run) -> list[tuple[str, list[int]]]:
    rows = Finding.objects.filter(run=run, kind="interval_failed").exclude(workers=[])
    return [(row.state, row.rounds) for row in rows]


def said(run: Run) -> dict[str, bool]:
    """By interval, whether what was found of it stands or was taken back."""
    return {row.phase: bool(row.workers) for row in Finding.objects.filter(run=run, kind="interval_failed")}


def told_of(run: Run) -> list[str]:
    """What people are told of its intervals, in order."""
    told = Outbox.objects.filter(finding__run=run, finding__kind="interval_failed").order_by("pk")
    return list(told.values_list("happened", flat=True))


def waiting() -> int:
    """How many of the task wait for Celery."""
    return sum(b"ingest.judge_intervals" in each for each in client().lrange(QUEUE, 0, -1))


def measured(run: Run, index: int) -> dict[str, bool | None]:
    content = Analysis.objects.get(round__run=run, round__index=index).content
    return {one["name"]: one["passed"] for one in content["intervals"]}


def test_it_is_measured_and_judged_with_the_round_that_closes(cast: Cast) -> None:
    story = told(cast, rounds=2)
    asked(story.run, 5.0)
    judge(story, 0, 1)

    assert measured(story.run, 1)["apply"] is False
    assert found(story.run) == [("open", [1])]
    finding = Finding.objects.get(run=story.run, kind="interval_failed")
    assert (finding.phase, finding.severity) == ("apply", "warning")
    assert "the check allows 5 s" in finding.observed


def test_a_changed_check_is_judged_anew_and_what_it_found_before_is_taken_back(cast: Cast) -> None:
    story = told(cast)
    judge(story, 0, 1, 2)
    assert found(story.run) == []
    assert "apply" not in measured(story.run, 2)

    row = asked(story.run, 5.0)
    judge_intervals(str(story.run.pk))
    assert found(story.run) == [("open", [1, 2])]
    assert [measured(story.run, index)["apply"] for index in range(3)] == [False, False, False]

    row.most_s = 60.0
    store.save(row, story.run)
    judge_intervals(str(story.run.pk))
    assert found(story.run) == []
    assert measured(story.run, 2)["apply"] is True
    withdrawn = Finding.objects.get(run=story.run, kind="interval_failed")
    assert (withdrawn.state, withdrawn.workers) == ("resolved", [])

    store.remove(row, story.run)
    judge_intervals(str(story.run.pk))
    assert "apply" not in measured(story.run, 2)


def test_of_an_ended_run_it_is_judged_too_and_is_over(cast: Cast) -> None:
    story = told(cast)
    judge(story, 0, 1, 2)
    story.finish()
    asked(story.run, 5.0)
    judge_intervals(str(story.run.pk))

    assert found(story.run) == [("resolved", [1, 2])]


def test_of_what_is_asked_of_an_ended_run_people_are_not_told(cast: Cast) -> None:
    ended, running = told(cast), told(cast, key="run-2")
    judge(ended, 0, 1, 2)
    ended.finish()
    row = asked(ended.run, 5.0, own=False)
    for story in (ended, running):
        judge_intervals(str(story.run.pk))
    assert found(ended.run) == [("resolved", [1, 2])]
    assert (told_of(ended.run), told_of(running.run)) == ([], ["opened"])

    store.remove(row, running.run)
    for story in (ended, running):
        judge_intervals(str(story.run.pk))
    assert (found(ended.run), found(running.run)) == ([], [])
    assert (told_of(ended.run), told_of(running.run)) == ([], ["opened", "resolved", "withdrawn"])


def test_the_end_of_what_was_open_is_told_though_the_run_has_ended(cast: Cast) -> None:
    story = told(cast)
    row = asked(story.run, 5.0)
    judge_intervals(str(story.run.pk))
    story.finish()
    store.remove(row, story.run)
    judge_intervals(str(story.run.pk))
    assert told_of(story.run) == ["opened", "resolved"]


def test_a_projects_interval_is_of_all_its_runs_and_a_runs_own_wins(cast: Cast) -> None:
    first, second = told(cast), told(cast, key="run-2")
    foreign = Story(cast.other_team, first.scenario, key="run-3")
    foreign.tell()
    asked(first.run, 5.0, own=False)
    asked(second.run, 60.0)

    for story in (first, second, foreign):
        judge(story, 0, 1, 2)

    assert (len(found(first.run)), len(found(second.run)), len(found(foreign.run))) == (1, 0, 0)
    assert [one.most_s for one in intervals.asked(second.run).intervals if one.name == "apply"] == [60.0]
    assert intervals.asked(foreign.run).stamp == ""
    assert set(IntervalsDue.objects.values_list("run_id", flat=True)) == {first.run.pk, second.run.pk}


def test_the_watcher_asks_until_it_is_judged(cast: Cast, quiet: None) -> None:
    story = told(cast)
    row = asked(story.run, 5.0)
    before, now = waiting(), [100.0]
    asking = DueRuns(store.TASK, intervals.runs_due, clock=lambda: now[0])
    for moment, more in ((100.0, 1), (105.0, 1), (114.9, 1), (115.0, 2)):
        now[0] = moment
        asking.scan()
        assert waiting() == before + more
    judge_intervals(str(story.run.pk))
    assert not IntervalsDue.objects.exists()
    now[0] = 200.0
    asking.scan()
    assert waiting() == before + 2

    # What is changed while it is judged is judged once more.
    since = store.is_due(story.run.pk)
    store.save(row, story.run)
    store.judged(story.run.pk, since)
    assert IntervalsDue.objects.count() == 1


def test_what_found_no_room_is_asked_for_with_the_next_scan(cast: Cast, quiet: None) -> None:
    asked(told(cast).run, 5.0)
    asking, before = DueRuns(store.TASK, intervals.runs_due, clock=lambda: 100.0), waiting()
    client().rpush(QUEUE, *["full"] * MOST_WAITING)
    asking.scan()
    assert waiting() == before
    client().lrem(QUEUE, 0, "full")
    asking.scan()
    assert waiting() == before + 1


def test_many_changes_are_judged_once(cast: Cast, quiet: None, monkeypatch: pytest.MonkeyPatch) -> None:
    story = told(cast)
    before = waiting()
    row = asked(story.run, 5.0)
    for most_s in (4.0, 3.0, 2.0):
        row.most_s = most_s
        store.save(row, story.run)
    assert waiting() == before + 1

    judge_intervals(str(story.run.pk))
    assert found(story.run) == [("open", [1, 2])]
    # Tasks that wait nevertheless look at nothing.
    monkeypatch.setattr(judging_windows, "whole", lambda _: pytest.fail("it is judged once more"))
    judge_intervals(str(story.run.pk))


def test_a_change_while_it_is_judged_has_it_judged_once_more(
    cast: Cast, quiet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told(cast)
    row, before = asked(story.run, 5.0), waiting()

    def changes(*_: object) -> tuple[()]:
        store.save(row, story.run)
        return ()

    with monkeypatch.context() as slow:
        slow.setattr(interval_checks, "judge", changes)
        judge_intervals(str(story.run.pk))
    assert waiting() == before + 1
    judge_intervals(str(story.run.pk))
    assert found(story.run) == [("open", [1, 2])]
    assert waiting() == before + 1


@pytest.mark.parametrize("of", ["ingest.detection.interval_checks.judge", "ingest.queries.intervals.looked_at"])
def test_a_rule_that_fails_takes_nothing_back_and_is_tried_again_later(
    cast: Cast, quiet: None, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    story = told(cast)
    row = asked(story.run, 5.0)
    judge_intervals(str(story.run.pk))
    before = Finding.objects.get(run=story.run, kind="interval_failed")
    assert before.state == "open"

    def fails(*_: object) -> None:
        raise ValueError("a fault")

    with monkeypatch.context() as broken:
        broken.setattr(of, fails)
        store.save(row, story.run)
        judge_intervals(str(story.run.pk))
    after = Finding.objects.get(pk=before.pk)
    assert (after.version, after.state) == (before.version, "open")
    assert IntervalsDue.objects.get().run_id == story.run.pk
    # Meanwhile others are judged, and whatever somebody changes is judged at once.
    assert intervals.runs_due(10) == []
    store.save(row, story.run)
    assert intervals.runs_due(10) == [story.run.pk]
    judge_intervals(str(story.run.pk))
    assert not IntervalsDue.objects.exists()


def test_other_words_for_an_interval_take_back_nothing_that_was_found(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told(cast)
    row = asked(story.run, 5.0)
    judge_intervals(str(story.run.pk))
    stamp = intervals.asked(story.run).stamp

    monkeypatch.setattr(named_intervals.Boundary, "__str__", lambda one: f"other words for {one.name}")
    monkeypatch.setattr(named_intervals.Interval, "__str__", lambda one: f"other words for {one.name}")
    # Its check cannot fail again: only what it is known by tells that it is still asked for.
    monkeypatch.setattr(interval_checks, "judge", lambda *_: ())
    store.save(row, story.run)
    judge_intervals(str(story.run.pk))

    assert found(story.run) == [("resolved", [1, 2])]
    assert intervals.asked(story.run).stamp == stamp


def test_a_check_changed_by_less_than_is_shown_is_judged_anew(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    story = told(cast)
    row = asked(story.run, 5.0)
    judge_intervals(str(story.run.pk))
    before = intervals.asked(story.run).stamp

    row.most_s = 5.0000001
    store.save(row, story.run)
    assert intervals.asked(story.run).stamp != before
    # Only what it is known by tells that the check is another.
    monkeypatch.setattr(interval_checks, "judge", lambda *_: ())
    judge_intervals(str(story.run.pk))
    assert found(story.run) == []


def test_what_was_found_under_a_name_that_is_no_more_is_taken_back(cast: Cast) -> None:
    story = told(cast)
    row, other = asked(story.run, 5.0), asked(story.run, 5.0, name="beside")
    judge_intervals(str(story.run.pk))
    row.name = "renamed"
    store.save(row, story.run)
    judge_intervals(str(story.run.pk))
    assert said(story.run) == {"apply": False, "beside": True, "renamed": True}

    # Another of equal boundaries says nothing for one that is deleted.
    store.remove(other, story.run)
    judge_intervals(str(story.run.pk))
    assert said(story.run) == {"apply": False, "beside": False, "renamed": True}


def test_an_interval_that_a_round_lacks_says_which_boundary(cast: Cast) -> None:
    story = told(cast)
    row = asked(story.run, 5.0)
    row.end_name = "sync"
    store.save(row, story.run)
    judge(story, 0, 1)

    content = Analysis.objects.get(round__run=story.run, round__index=1).content
    (one,) = [one for one in content["intervals"] if one["name"] == "apply"]
    assert (one["abstained"], one["passed"], one["parts"]) == ("the round has no last end of sync", None, [])
    assert found(story.run) == []


def test_a_deleted_run_takes_its_own_intervals_with_it_and_leaves_those_of_its_project(cast: Cast) -> None:
    story = told(cast)
    asked(story.run, 5.0)
    asked(story.run, 5.0, own=False, name="of all")
    assert deletion.begin(story.run.pk)

    assert list(Interval.objects.values_list("name", flat=True)) == ["of all"]
    assert not IntervalsDue.objects.exists()
