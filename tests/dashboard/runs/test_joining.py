"""Sites of one training without a common id: which runs are offered, joining them, and taking them apart again."""

import datetime as dt

import pytest
from django.test import Client

from dashboard.runs.joining import candidates, sites
from dashboard.runs.models import JoinedRun
from dashboard.teams.models import AuditRecord
from ingest.models import Run
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import NOON, add_workers, make_run

pytestmark = pytest.mark.django_db
HOSTILE = "<img src=x onerror=alert(1)>"


def act(client: Client, run: Run, do: str, other: Run | None = None) -> int:
    body = {"do": do} | ({"run": str(other.pk)} if other else {})
    return client.post(f"/runs/{run.pk}/overview/", body).status_code


def names(runs: list[Run]) -> set[str]:
    return {run.name for run in runs}


def test_offered_are_runs_of_the_project_at_the_same_time_on_other_machines(cast: Cast) -> None:
    run = make_run(cast.team, "here")
    add_workers(run, ["m-1", ""])
    far = make_run(cast.team, "there", age_m=3)
    add_workers(far, ["m-2", ""])
    add_workers(make_run(cast.team, "on the same machine"), ["m-1"])
    make_run(cast.team, "of another project", project="other")
    make_run(cast.team, "over before", age_m=30, state="finished", ended_at=NOON - dt.timedelta(minutes=1))
    make_run(cast.team, "of last week", age_m=7 * 24 * 60)
    make_run(cast.other_team, "of others")
    assert names(candidates(run)) == {"there"}
    assert names(candidates(far)) == {"here", "on the same machine", "over before"}


def test_joined_runs_stand_together_on_each_of_their_pages_and_come_apart_again(cast: Cast) -> None:
    one, two, three = (make_run(cast.team, name) for name in ("one", HOSTILE, "three"))
    member = browser_of(cast.member)
    assert act(member, one, "join", two) == 302
    assert act(member, three, "join", two) == 302
    for run in (one, two, three):
        assert names([site.run for site in sites(run)]) == {"one", HOSTILE, "three"}
        assert candidates(run) == []
    page = member.get(f"/runs/{one.pk}/overview/").content.decode()
    assert f'href="/runs/{two.pk}/overview/"' in page
    assert HOSTILE not in page
    assert act(member, three, "leave") == 302
    assert (len(sites(one)), sites(three)) == (2, [])
    assert act(member, one, "leave") == 302
    assert not JoinedRun.objects.exists()
    assert act(member, one, "leave") == 302
    written = AuditRecord.objects.filter(did__endswith="by itself again").order_by("pk")
    assert [row.did for row in written] == [f"showed the run “{name}” by itself again" for name in ("three", "one")]


def test_two_groups_become_one(cast: Cast) -> None:
    runs = [make_run(cast.team, str(number)) for number in range(4)]
    owner = browser_of(cast.owner)
    act(owner, runs[0], "join", runs[1])
    act(owner, runs[2], "join", runs[3])
    act(owner, runs[1], "join", runs[2])
    assert len(sites(runs[0])) == 4


def test_a_viewer_and_a_stranger_join_nothing_and_another_teams_run_is_not_there(cast: Cast) -> None:
    run, other, theirs = make_run(cast.team), make_run(cast.team, "other"), make_run(cast.other_team, "theirs")
    assert act(browser_of(cast.viewer), run, "join", other) == 403
    assert act(browser_of(cast.stranger), run, "join", theirs) == 404
    member = browser_of(cast.member)
    assert act(member, run, "join", theirs) == 404
    assert act(member, run, "join", run) == 404
    assert act(member, run, "join") == 404
    assert act(member, run, "nonsense", other) == 404
    assert not JoinedRun.objects.exists()
    assert b"Join with another run" not in browser_of(cast.viewer).get(f"/runs/{run.pk}/overview/").content
    assert b"Join with another run" in member.get(f"/runs/{run.pk}/overview/").content


def test_somebody_in_two_teams_cannot_join_runs_of_both(cast: Cast) -> None:
    cast.other_team.memberships.create(user=cast.owner, role="owner")
    run, theirs = make_run(cast.team), make_run(cast.other_team, "theirs")
    assert act(browser_of(cast.owner), run, "join", theirs) == 404
