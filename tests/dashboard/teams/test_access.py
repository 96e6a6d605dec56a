"""Runs are fetched through the teams of the one who asks."""

from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from dashboard.teams.access import may_change, run_for, run_for_async, teams_of
from dashboard.teams.models import User
from tests.cast import Cast
from tests.dashboard.runs_of import make_run


def test_members_of_the_team_get_its_run(cast: Cast) -> None:
    run = make_run(cast.team)
    for user in (cast.owner, cast.member, cast.viewer):
        assert run_for(user, run.pk) == run
        assert run_for(user, str(run.pk)) == run


def test_a_strangers_run_an_unknown_one_and_nonsense_are_refused_alike(cast: Cast) -> None:
    run = make_run(cast.team)
    answers = set()
    for run_id in (run.pk, uuid4(), "nonsense", "'; --"):
        with pytest.raises(Http404) as refusal:
            run_for(cast.stranger, run_id)
        answers.add(str(refusal.value))
    assert len(answers) == 1


def test_a_visitor_and_a_closed_account_have_no_teams(cast: Cast) -> None:
    run = make_run(cast.team)
    closed: User = cast.owner
    closed.is_active = False
    for user in (AnonymousUser(), closed):
        assert not teams_of(user).exists()
        with pytest.raises(Http404):
            run_for(user, run.pk)


def test_a_removed_member_sees_nothing_more(cast: Cast) -> None:
    run = make_run(cast.team)
    cast.member.memberships.all().delete()
    with pytest.raises(Http404):
        run_for(cast.member, run.pk)


def test_viewers_and_strangers_may_not_change_a_team(cast: Cast) -> None:
    allowed = {
        user.username: may_change(user, cast.team) for user in (cast.owner, cast.member, cast.viewer, cast.stranger)
    }
    assert allowed == {"olga": True, "mika": True, "vera": False, "stan": False}
    assert not may_change(AnonymousUser(), cast.team)


def test_the_async_door_refuses_alike(cast: Cast) -> None:
    run = make_run(cast.team)
    assert async_to_sync(run_for_async)(cast.owner, run.pk) == run
    with pytest.raises(Http404):
        async_to_sync(run_for_async)(cast.stranger, run.pk)
