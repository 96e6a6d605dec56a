"""Making teams: the first one of an installation, and further ones."""

import secrets

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils.text import slugify

from dashboard.teams import members, tokens
from dashboard.teams.audit import audit
from dashboard.teams.models import Area, Membership, Role, Team, User
from dashboard.teams.names import all_seen

FIRST_TEAM = "First team"
FIRST_USER = "owner"
MOST_OWNED = 100
_NAME_CHARS = 128
# Any number that no other lock of the installation uses.
_FIRST_TEAM_LOCK = 7_310_229_001


class TeamExistsError(ValueError):
    """A team of this name, or of one that reads the same in a URL, is there already."""


def create_team(name: str) -> tuple[Team, str]:
    """Make a team and a token with all scopes; return both. The token's text cannot be had again.

    Raises TeamExistsError where the name is taken, ValueError where it is empty, too long or not printable.
    """
    name = checked_name(name)
    slug = slugify(name) or f"team-{secrets.token_hex(4)}"
    with transaction.atomic():
        if Team.objects.filter(slug=slug).exists() or Team.objects.filter(name=name).exists():
            raise TeamExistsError(f"there is already a team named {name!r}")
        team = Team.objects.create(name=name, slug=slug)
        audit(None, team, Area.TEAM, f"made the team “{name}”")
        return team, tokens.issue(team, "create_team", tokens.SCOPES)


@transaction.atomic
def found_team(request: HttpRequest, owner: User, name: str) -> Team:
    """Make a team of a person, who owns it. Its name may be taken: a refusal would tell of another team.

    Raises ValueError where the name is none, or the person owns as many as one may.
    """
    name = checked_name(name)
    # One at a time for each person, so that the count holds.
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if owner.memberships.filter(role=Role.OWNER).count() >= MOST_OWNED:
        raise ValueError(f"you own {MOST_OWNED} teams, and more cannot be made")
    slug = f"{slugify(name)[: _NAME_CHARS - 9] or 'team'}-{secrets.token_hex(4)}"
    team = Team.objects.create(name=name, slug=slug)
    Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    audit(request, team, Area.TEAM, f"made the team “{name}”")
    return team


@transaction.atomic
def rename_team(request: HttpRequest, team: Team, name: str) -> None:
    """Call a team otherwise; raises ValueError where the name is none."""
    was, name = team.name, checked_name(name)
    if name == was:
        return
    team.name = name
    team.save(update_fields=["name"])
    audit(request, team, Area.TEAM, f"renamed the team from “{was}” to “{name}”")


def checked_name(name: str) -> str:
    """The name without needless blanks; raises ValueError where it is empty, too long or not to be seen."""
    name = " ".join(name.split())
    if not name or len(name) > _NAME_CHARS or not all_seen(name):
        raise ValueError(f"a team's name has 1 to {_NAME_CHARS} printable characters")
    return name


@transaction.atomic
def ensure_first_team(known_token: str = "") -> tuple[Team, User, str]:
    """Return the installation's oldest team, its oldest owner and a token of it with all scopes.

    What is missing is made. `known_token` comes back unchanged while it is valid: a caller who keeps the text
    gets no new token at each start.
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


@transaction.atomic
def add_member(team: Team, username: str, role: Role = Role.MEMBER) -> User:
    """Put a person into a team, with an account that has no password yet where there was none.

    Raises ValueError for a username that no account may have, LastOwnerError (one of them) where nobody would own the
    team any more.
    """
    try:
        User.username_validator(username)
    except ValidationError:
        raise ValueError("a username has letters, digits and @ . + - _") from None
    user, _ = User.objects.get_or_create(username=username, defaults={"password": make_password(None)})
    members.lock(team)
    there = Membership.objects.select_related("user").filter(team=team, user=user).first()
    if there and role != Role.OWNER:
        members.keep_an_owner(there)
    Membership.objects.update_or_create(team=team, user=user, defaults={"role": role})
    audit(None, team, Area.MEMBER, f"made {username} {role}" if there else f"added {username} as {role}")
    return user


def _owner_of(team: Team) -> User:
    owners = User.objects.filter(memberships__team=team, memberships__role=Role.OWNER, is_active=True)
    return owners.order_by("id").first() or add_member(team, FIRST_USER, Role.OWNER)
