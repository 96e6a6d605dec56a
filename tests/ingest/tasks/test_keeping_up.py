"""Judging keeps up: what a round costs does not grow with its run, and what waits for one window is judged as one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from ingest.detection import straggler
from ingest.detection.facts import History, Spans
from ingest.detection.verdicts import Judgement
from ingest.models import Finding, Round
from ingest.queries import judging_spans
from ingest.queries.unjudged import unjudged
from ingest.tasks import judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.scenarios import Scenario
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def histories(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The rounds of each window that was judged, with the history before it."""
    seen: list[tuple[int, ...]] = []
    judge_window: Callable[[History, straggler.Policy], Judgement] = straggler.judge

    def noted(history: History, policy: straggler.Policy) -> Judgement:
        seen.append(history.windows[-1].rounds)
        return judge_window(history, policy)

    monkeypatch.setattr(straggler, "judge", noted)
    return seen


def short_rounds(count: int) -> Scenario:
    """Rounds of three seconds, five of which make a window; rank-1 trains slowly from round 10 to round 14."""
    return scenarios.exchange(
        "rounds of three seconds", scenarios.crew(8), rounds=count, aggregate=0.0, apply=0.0, upload=0.0, encode=0.5,
        train=lambda worker, index: 5.5 if worker == "rank-1" and 10 <= index < 15 else 2.5,
    )  # fmt: skip


def judge(story: Story, *indexes: int) -> None:
    for index in indexes:
        judge_round(str(story.run.pk), index, 0)


def window(first: int) -> tuple[int, ...]:
    return tuple(range(first, first + 5))


def findings_of(story: Story) -> list[tuple[object, ...]]:
    rows = Finding.objects.filter(run=story.run, kind="straggler").order_by("fingerprint")
    return [(row.fingerprint, row.state, row.workers, row.rounds, row.observed, row.evidence) for row in rows]


def test_a_window_is_judged_when_its_last_round_is_and_not_with_each_round_after_it(
    cast: Cast, histories: list[tuple[int, ...]]
) -> None:
    story = Story(cast.team, short_rounds(24))
    for index in range(24):
        story.tell(index)
        judge(story, index)

    assert histories == [window(first) for first in (0, 5, 10, 15)]
    slow = Finding.objects.filter(kind="straggler")
    assert [(row.workers, row.rounds) for row in slow] == [(["rank-1"], [10, 11, 12, 13, 14])]
    assert unjudged(100) == []


@pytest.mark.parametrize("order", [range(24), range(23, -1, -1)], ids=["oldest first", "newest first"])
def test_rounds_that_wait_for_one_window_are_judged_as_one(
    cast: Cast, histories: list[tuple[int, ...]], order: range
) -> None:
    prompt, behind = Story(cast.team, short_rounds(24)), Story(cast.team, short_rounds(24), key="behind")
    behind.begin_ns = prompt.begin_ns
    for index in range(24):
        prompt.tell(index)
        judge(prompt, index)
    histories.clear()
    behind.tell()
    judge(behind, *order)

    assert sorted(histories) == [window(first) for first in (0, 5, 10, 15)]
    assert findings_of(behind) == findings_of(prompt)
    assert unjudged(100) == []
    assert not Round.objects.filter(run=behind.run, index__lt=20, judged=None).exists()


def test_what_is_asked_for_again_costs_one_statement(cast: Cast) -> None:
    story = Story(cast.team, short_rounds(5))
    story.tell()
    judge(story, *range(5))

    run = str(story.run.pk)
    for index in (2, 4):
        with CaptureQueriesContext(connection) as asked:
            judge_round(run, index, 0)
        assert len(asked) == 1, [query["sql"] for query in asked.captured_queries]


def test_late_data_is_judged_in_its_own_window_and_in_the_newest_that_looks_back_on_it(
    cast: Cast, histories: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(cast.team, short_rounds(24))
    story.tell()
    judge(story, *range(24))
    histories.clear()
    later(story, 7)
    judge(story, 7)
    assert histories == [window(5), window(15)]

    histories.clear()
    later(story, 6, 8, 17)
    judge(story, 8, 17, 6)
    assert histories == [window(5), window(15)]

    # Of what lies further back than the newest window looks, only its own window is judged.
    monkeypatch.setattr("ingest.queries.judging_windows._WINDOWS", 1)
    monkeypatch.setattr("ingest.queries.judging_windows._LEAST_WINDOWS", 1)
    monkeypatch.setattr("ingest.queries.judging_windows.WARMUP_STEPS", 0)
    histories.clear()
    later(story, 2)
    judge(story, 2)
    assert histories == [window(0)]


def later(story: Story, *indexes: int) -> None:
    Round.objects.filter(run=story.run, index__in=indexes).update(data_version=F("data_version") + 1)


def test_a_window_whose_last_round_was_never_recorded_is_judged_with_the_next_round(
    cast: Cast, histories: list[tuple[int, ...]]
) -> None:
    story = Story(cast.team, short_rounds(8))
    for index in (0, 1, 2, 3, 5, 6, 7):
        story.tell(index)
        judge(story, index)

    assert histories == [(0, 1, 2, 3)]
    assert not Round.objects.filter(run=story.run, index__lt=4, judged=None).exists()


def test_a_round_in_the_middle_of_a_window_reads_no_spans_but_its_own(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    spans_of = judging_spans.spans_of

    def counted(*wanted: Any) -> Spans:
        spans = spans_of(*wanted)
        read.append(len(spans))
        return spans

    for reader in ("judging", "analysing"):
        monkeypatch.setattr(f"ingest.queries.{reader}.spans_of", counted)
    story = Story(cast.team, short_rounds(9))
    of_one = sum(did.round == 0 for did in story.scenario.phases)
    for index in range(9):
        story.tell(index)
        judge(story, index)

    assert read == [of_one] * 5 + [of_one * 5] + [of_one] * 4
