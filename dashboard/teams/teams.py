"""Making teams: the first one of an installation, and further ones."""

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.utils.text import slugify

from dashboard.teams import tokens
from dashboard.teams.models import Membership, Role, Team, User

FIRST_TEAM = "First team"
FIRST_USER = "owner"
# Any number that no other lock of the installation uses.
_FIRST_TEAM_LOCK = 7_310_229_001


class TeamExistsError(ValueError):
    """A team of this name, or of one that reads the same in a URL, is there already."""


def create_team(name: str) -> tuple[Team, str]:
    """Make a team and a token with all scopes; return both. The token's text cannot be had again.

    Raises TeamExistsError where the name is taken and ValueError where it is empty, too long or holds no letter or digit.
    """
    name = " ".join(name.split())
    slug = slugify(name)
    if not slug or len(name) > 128 or "\0" in name:
        raise ValueError("a team's name needs a letter or digit and at most 128 characters")
    with transaction.atomic():
        if Team.objects.filter(slug=slug).exists() or Team.objects.filter(name=name).exists():
            raise TeamExistsError(f"there is already a team named {name!r}")
        team = Team.objects.create(name=name, slug=slug)
        return team, tokens.issue(team, "create_team", tokens.SCOPES)


@transaction.atomic
def ensure_first_team(known_token: str = "") -> tuple[Team, User, str]:
    """Return the installation's oldest team, its oldest owner and a token of it with all scopes.

    What is missing is made. `known_token` comes back unchanged while it is valid, so that a caller who keeps the
    text gets no new token at each start.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_FIRST_TEAM_LOCK])
    team = Team.objects.order_by("created_at", "id").first()
    if team is None:
        team = Team.objects.create(name=FIRST_TEAM, slug=slugify(FIRST_TEAM))
    user = _owner_of(team)
    if known_token and tokens.valid(team, known_token):
        return team, user, known_token
    return team, user, tokens.issue(team, "this installation", tokens.SCOPES)


def add_member(team: Team, username: str, role: Role = Role.MEMBER) -> User:
    """Put a person into a team, with an account that has no password yet where there was none."""
    user, _ = User.objects.get_or_create(username=username, defaults={"password": make_password(None)})
    Membership.objects.update_or_create(team=team, user=user, defaults={"role": role})
    return user


def _owner_of(team: Team) -> User:
    owner = User.objects.filter(memberships__team=team, memberships__role=Role.OWNER, is_active=True).order_by("id").first()
    return owner or add_member(team, FIRST_USER, Role.OWNER)
