"""The known cast of the tests: an owner, a member and a viewer of one team, and a stranger who has a team of his own."""

from dataclasses import dataclass

import pytest
from django.test import Client

from dashboard.teams.models import Membership, Role, Team, User

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


def _member(team: Team, username: str, role: Role) -> User:
    user = User.objects.create_user(username, f"{username}@example.org", PASSWORD)
    Membership.objects.create(team=team, user=user, role=role)
    return user


def make_cast() -> Cast:
    """The cast, stored; for tests that need it outside of a transaction."""
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


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def owner_client(cast: Cast) -> Client:
    """A browser in which the owner is signed in."""
    client = Client()
    client.force_login(cast.owner)
    return client


@pytest.fixture
def stranger_client(cast: Cast) -> Client:
    """A browser in which the stranger is signed in."""
    client = Client()
    client.force_login(cast.stranger)
    return client
