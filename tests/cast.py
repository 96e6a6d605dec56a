"""The known cast of the tests: an owner, a member and a viewer of one team, and a stranger of another.

Models are imported inside: pytest loads this module before Django is set up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client

    from dashboard.teams.models import Team, User

PASSWORD = "a long enough secret"


@dataclass(frozen=True)
class Cast:
    """`other_team` is the stranger's; nobody belongs to both."""

    team: Team
    owner: User
    member: User
    viewer: User
    other_team: Team
    stranger: User


def make_cast() -> Cast:
    """The cast, stored; for tests that need it outside of a transaction."""
    from dashboard.teams.models import Role, Team

    team = Team.objects.create(name="Vision team", slug="vision-team")
    other = Team.objects.create(name="Other team", slug="other-team")
    return Cast(
        team=team,
        owner=_member(team, "olga", Role.OWNER),
        member=_member(team, "mika", Role.MEMBER),
        viewer=_member(team, "vera", Role.VIEWER),
        other_team=other,
        stranger=_member(other, "stan", Role.OWNER),
    )


def _member(team: Team, username: str, role: str) -> User:
    from dashboard.teams.models import Membership, User

    user = User.objects.create(username=username, email=f"{username}@example.org", password=_hashed_once())
    Membership.objects.create(team=team, user=user, role=role)
    return user


@cache
def _hashed_once() -> str:
    """Hashing is slow on purpose; four times before every test is too slow."""
    from django.contrib.auth.hashers import make_password

    return make_password(PASSWORD)


def browser_of(user: User) -> Client:
    """A browser (Django's test client) in which the person is signed in."""
    from django.test import Client

    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()
