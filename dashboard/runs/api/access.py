"""Who asks, and what they may see: the team comes from the token or the session, never from the request."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja.errors import AuthenticationError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from dashboard.runs.api.errors import Refusal
from dashboard.teams.access import choice_of, may_change, teams_of
from ingest.api.auth import authenticate
from ingest.models import Run
from ingest.queries import runs

_SAFE = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Lists are of `team`; a single run may be of any of `teams`, and changed where its team is in `changes`.

    `token` is what the audit calls the token that was shown; empty for a person.
    """

    team: UUID
    teams: frozenset[UUID]
    changes: frozenset[UUID]
    token: str = ""


class Token(HttpBearer):
    """A token with scope `read`, or `admin` for changes."""

    def __init__(self, *, changes: bool = True) -> None:
        """`changes` says that what is asked for with a body changes something; else `read` is enough for that, too."""
        super().__init__()
        self._changes = changes

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        """The token's team; raises 401 for a bad token and 403 for one whose scope does not reach."""
        info = authenticate(f"Bearer {token}")
        if info is None or info.expired:
            raise AuthenticationError
        needed = {"read", "admin"} if request.method in _SAFE or not self._changes else {"admin"}
        if not any(info.may(scope) for scope in needed):
            raise Refusal(403, f"This token lacks the scope {' or '.join(sorted(needed))}.")
        own = frozenset({info.team_id})
        return Caller(info.team_id, own, own, f"token {info.shown}")


class Session(APIKeyCookie):
    """A browser in which somebody is signed in; changes need Django's CSRF token."""

    param_name = "sessionid"

    def __call__(self, request: HttpRequest) -> Caller | None:
        """The person's teams, or None for a visitor; raises 403 for a change that carries no CSRF token."""
        if not request.user.is_authenticated:
            return None
        if request.method not in _SAFE and check_csrf(request):
            raise Refusal(403, "The CSRF token is missing or wrong.")
        return self.authenticate(request, None)

    def authenticate(self, request: HttpRequest, key: str | None) -> Caller | None:  # noqa: ARG002 - the key is Django's
        """The person's teams; None for somebody who belongs to no team."""
        team = choice_of(request)[1]
        if team is None:
            return None
        teams = list(teams_of(request.user))
        changes = frozenset(each.pk for each in teams if may_change(request.user, each))
        return Caller(team.pk, frozenset(each.pk for each in teams), changes)


def caller(request: HttpRequest) -> Caller:
    """Who was let in."""
    found: Any = getattr(request, "auth", None)
    if not isinstance(found, Caller):
        raise AuthenticationError
    return found


def run_of(request: HttpRequest, run_id: UUID) -> Run:
    """The run, fetched through the caller's teams; raises Http404 for any other."""
    run = runs.one(caller(request).teams, run_id)
    if run is None:
        raise Http404
    return run


def run_to_change(request: HttpRequest, run_id: UUID) -> Run:
    """The same, for somebody who may change it; raises Refusal (403) for who may only look."""
    run = run_of(request, run_id)
    if run.team_id not in caller(request).changes:
        raise Refusal(403, "You may look at this run, but not change it.")
    return run
