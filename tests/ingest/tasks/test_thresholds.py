"""What a team or a run has set is used by the next judgement, whoever judges; changes stay on record."""

import pytest

from ingest.models import Finding, Round, ThresholdChange
from ingest.queries import thresholds as queries
from ingest.store import deletion, thresholds
from ingest.tasks import judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db


def judge(story: Story) -> list[Finding]:
    """All rounds, anew."""
    Round.objects.filter(run=story.run).update(verdict_version=-1, judged_version=-1, lasting_version=-1, tries=0)
    for row in Round.objects.filter(run=story.run).order_by("index"):
        judge_round(str(story.run.pk), row.index, row.generation)
    return list(Finding.objects.filter(run=story.run, kind="straggler").exclude(workers=[]))


def test_a_team_sets_them_for_all_its_runs_and_a_run_for_itself_at_once(cast: Cast) -> None:
    first = Story(cast.team, scenarios.two_slow_encoders(), key="first")
    second = Story(cast.team, scenarios.two_slow_encoders(), key="second")
    theirs = Story(cast.other_team, scenarios.two_slow_encoders(), key="first")
    for story in (first, second, theirs):
        story.tell()

    thresholds.change(cast.team.pk, None, {"straggler.early_many_ratio": 15.0}, cast.owner.pk)
    thresholds.change(cast.team.pk, second.run, {"straggler.early_many_ratio": 3.0}, cast.member.pk)

    assert judge(first) == []
    (found,) = judge(second)
    assert [told["words"] for told in found.evidence["thresholds"]] == [
        "Ratio at first, many workers: 3 ×, set for the run; the default is 2 ×"
    ]
    assert "thresholds" not in judge(theirs)[0].evidence

    thresholds.change(cast.team.pk, None, {"straggler.early_many_ratio": None}, cast.owner.pk)
    (found,) = judge(first)
    assert "thresholds" not in found.evidence


def test_who_changed_what_stays_on_record_and_what_did_not_change_is_none(cast: Cast) -> None:
    for value in (2.0, 2.0, 3.0, None, None):
        thresholds.change(cast.team.pk, None, {"straggler.ratio": value}, cast.owner.pk)
    told = [(one.threshold.key, one.before, one.after, one.by) for one in queries.changes(cast.team.pk, None)]
    assert told == [
        ("straggler.ratio", 3.0, None, "olga"), ("straggler.ratio", 2.0, 3.0, "olga"),
        ("straggler.ratio", None, 2.0, "olga"),
    ]  # fmt: skip
    assert queries.changes(cast.other_team.pk, None) == []
    cast.owner.delete()
    assert queries.changes(cast.team.pk, None)[0].by == ""


@pytest.mark.parametrize("wanted", [{"no.such": 1.0}, {"straggler.ratio": 1.0}, {"straggler.ratio": float("nan")}])
def test_what_no_threshold_allows_is_refused_and_nothing_of_it_kept(cast: Cast, wanted: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        thresholds.change(cast.team.pk, None, {"straggler.least_z": 4.0} | wanted, cast.owner.pk)
    assert not ThresholdChange.objects.exists()


def test_a_run_takes_its_own_with_it_when_it_is_deleted(cast: Cast) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()
    thresholds.change(cast.team.pk, story.run, {"straggler.ratio": 2.0}, cast.owner.pk)
    thresholds.change(cast.team.pk, None, {"straggler.ratio": 3.0}, cast.owner.pk)
    assert deletion.begin(story.run.pk)
    assert ThresholdChange.objects.get().run is None
