"""What uses a team's disk, and how long what is kept: shown to all of the team, changed by its owners."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from dashboard.teams.models import Team
from ingest.models import Run
from ingest.queries import disk
from ingest.store import deletion
from tests.cast import Cast, browser_of
from tests.dashboard.runs.exports import exported_run as stage

pytestmark = pytest.mark.django_db
NOTHING = {"sample_days": "", "phase_days": "", "summary_days": ""}


@pytest.fixture
def run(cast: Cast) -> Run:
    return stage.make_run(cast.team)


def keep(person: Any, **days: str) -> str:
    answer = browser_of(person).post("/data/retention/", NOTHING | days, follow=True)
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.mark.parametrize("who", ["owner", "member", "viewer"])
def test_all_of_a_team_see_what_uses_the_disk(cast: Cast, run: Run, who: str) -> None:
    large = stage.make_run(cast.team, count=20, key="large")
    stage.make_run(cast.other_team, key="of another team")
    shown = browser_of(getattr(cast, who)).get("/data/").content.decode()

    assert shown.index(f"/runs/{large.pk}/") < shown.index(f"/runs/{run.pk}/")
    assert "of another team" not in shown
    used = disk.of_team(cast.team.pk, timezone.now().date() - dt.timedelta(days=90), timezone.now().date())
    assert used.runs == 2
    assert used.run_records == sum(
        sum(run.streams.values_list("stored_count", flat=True)) for run in Run.objects.filter(team=cast.team)
    )
    assert used.run_bytes > 100 * used.run_records / 2
    assert used.machines == 2


def test_what_days_hold_of_all_teams_is_shown_only_where_there_is_one(cast: Cast, run: Run) -> None:
    assert "Day by day" not in browser_of(cast.owner).get("/data/").content.decode()
    cast.other_team.delete()
    shown = browser_of(cast.owner).get("/data/").content.decode()
    assert "Day by day" in shown
    assert f"<td>{timezone.now():%Y-%m-%d}</td>" in shown


def test_of_days_that_were_dropped_nothing_is_counted(cast: Cast, run: Run) -> None:
    today = timezone.now().date()
    (before,) = disk.largest_runs(cast.team.pk, today - dt.timedelta(days=9), 20)
    Run.objects.update(first_day=today - dt.timedelta(days=19))  # twenty days of which ten are kept
    (after,) = disk.largest_runs(cast.team.pk, today - dt.timedelta(days=9), 20)
    assert after.records == before.records // 2
    Run.objects.update(last_day=today - dt.timedelta(days=10))
    assert disk.largest_runs(cast.team.pk, today - dt.timedelta(days=9), 20) == []


def test_a_deletion_is_shown_with_its_progress(cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_SLICE", 10)
    deletion.begin(run.pk, within_s=-1.0)
    shown = browser_of(cast.viewer).get("/data/").content.decode()
    assert "<progress" in shown
    assert f"/runs/{run.pk}/" not in shown  # among the largest runs it is no more
    assert 'hx-trigger="every 2s"' in shown
    while not deletion.go_on(run.pk):
        pass
    part = browser_of(cast.viewer).get("/data/", headers={"HX-Request": "true"}).content.decode()
    assert "deleted; its space is being made ready" in part
    assert "hx-trigger" not in part
    assert "Deletions" not in browser_of(cast.stranger).get("/data/").content.decode()


def test_only_an_owner_changes_how_long_what_is_kept(cast: Cast) -> None:
    for person in (cast.member, cast.viewer):
        shown = browser_of(person).get("/data/retention/").content.decode()
        assert "Only an owner of the team may change this." in shown
        assert '<button type="submit" class="button primary">Save' not in shown
        assert browser_of(person).post("/data/retention/", NOTHING | {"sample_days": "7"}).status_code == 403
    assert Team.objects.get(pk=cast.team.pk).sample_days is None


def test_longer_is_saved_at_once_and_shorter_only_when_it_was_said_what_goes(cast: Cast, run: Run) -> None:
    Run.objects.update(
        first_day=timezone.now().date() - dt.timedelta(days=30), heard_at=timezone.now() - dt.timedelta(days=30)
    )
    asked = keep(cast.owner, sample_days="7", summary_days="20")
    assert "This deletes, within the hour and for good:" in asked
    assert "curves of 1 run end there" in asked
    assert "with all that is known of them: 1 run." in asked
    assert "timelines of" not in asked
    assert Team.objects.get(pk=cast.team.pk).sample_days is None

    # An answer to another question is none.
    assert "This deletes" in keep(cast.owner, sample_days="6", summary_days="20", confirmed="7 - 20")
    assert "Saved." in keep(cast.owner, sample_days="7", summary_days="20", confirmed="7 - 20")
    team = Team.objects.get(pk=cast.team.pk)
    assert (team.sample_days, team.phase_days, team.summary_days) == (7, None, 20)

    assert "Saved." in keep(cast.owner, sample_days="14", summary_days="")
    team = Team.objects.get(pk=cast.team.pk)
    assert (team.sample_days, team.summary_days) == (14, None)
    assert "Nothing was changed." in keep(cast.owner, sample_days="14")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sample_days", "15"), ("phase_days", "91"), ("phase_days", "0"), ("summary_days", "-1"),
        ("summary_days", "9999"), ("sample_days", "x"),
    ],
)  # fmt: skip
def test_days_beyond_what_is_kept_at_all_are_refused(cast: Cast, name: str, value: str) -> None:
    assert "errorlist" in keep(cast.owner, **{name: value})
    assert getattr(Team.objects.get(pk=cast.team.pk), name) is None


def test_a_form_of_another_teams_page_changes_nothing(cast: Cast) -> None:
    assert "another team" in keep(cast.owner, sample_days="14", team=cast.other_team.slug)
    assert Team.objects.get(pk=cast.team.pk).sample_days is None
