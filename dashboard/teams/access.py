"""Who may see what: every object of a page is fetched through the teams of the one who asks."""

from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from dashboard.teams.models import Membership, Role, Team
from ingest.models import Run

Visitor = AbstractBaseUser | AnonymousUser
_CHOSEN = "team"


def teams_of(user: Visitor) -> QuerySet[Team]:
    """Return the teams that a person belongs to, by name; none for a visitor or a closed account."""
    if not (user.is_authenticated and user.is_active):
        return Team.objects.none()
    return Team.objects.filter(memberships__user_id=user.pk).order_by("name")


def run_for(user: Visitor, run_id: UUID | str) -> Run:
    """Return a run of one of the person's teams, with its team.

    Raises Http404 for anything else: whether it exists elsewhere is not told.
    """
    try:
        key = run_id if isinstance(run_id, UUID) else UUID(run_id)
    except ValueError:
        raise Http404("no such run") from None
    run = Run.objects.filter(pk=key, team__in=teams_of(user).order_by()).select_related("team").first()
    if run is None:
        raise Http404("no such run")
    return run


run_for_async = sync_to_async(run_for)


def current_team(request: HttpRequest) -> Team:
    """Return the team that the person is looking at: the one chosen last, else the oldest.

    Raises Http404 for somebody who belongs to no team.
    """
    _, team = choice_of(request)
    if team is None:
        raise Http404("no team")
    return team


def choice_of(request: HttpRequest) -> tuple[list[Team], Team | None]:
    """Return the person's teams by name, and the current one of them, None where there are none."""
    teams = list(teams_of(request.user))
    oldest = min(teams, key=lambda team: team.created_at, default=None)
    chosen = request.session.get(_CHOSEN)
    return teams, next((team for team in teams if team.slug == chosen), oldest)


def choose_team(request: HttpRequest, slug: str) -> Team:
    """Remember a team for the session; raises Http404 where it is none of theirs."""
    team = teams_of(request.user).filter(slug=slug).first()
    if team is None:
        raise Http404("no such team")
    request.session[_CHOSEN] = team.slug
    return team


def may_change(user: Visitor, team: Team) -> bool:
    """Whether the person may make tokens of a team and change its runs; viewers may not."""
    roles = [Role.OWNER, Role.MEMBER]
    if not user.is_authenticated:
        return False
    return Membership.objects.filter(user_id=user.pk, team=team, role__in=roles).exists()


def owns(user: Visitor, team: Team) -> bool:
    """Whether the person may change who belongs to a team, and read its audit."""
    if not user.is_authenticated:
        return False
    return Membership.objects.filter(user_id=user.pk, team=team, role=Role.OWNER).exists()
