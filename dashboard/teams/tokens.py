"""Tokens of a team: made here, shown once, kept as a hash (ingest.models.Token)."""

import datetime as dt
import hashlib
import secrets
from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone

from dashboard.teams.audit import audit
from dashboard.teams.models import Area, Team, User
from ingest.models import Token

SCOPES = ("ingest", "read", "admin")
_SECRET_BYTES = 32
_PREFIX_CHARS = 10


def issue(
    team: Team, name: str, scopes: Sequence[str], *, by: User | None = None, expires_at: dt.datetime | None = None
) -> str:
    """Make a token and return its text, which cannot be had again.

    Raises ValueError for no scope, or one that is not in SCOPES.
    """
    if not scopes or set(scopes) - set(SCOPES):
        raise ValueError(f"scopes must be some of {', '.join(SCOPES)}, not {', '.join(scopes) or 'none'}")
    text = "rw_" + secrets.token_urlsafe(_SECRET_BYTES)
    Token.objects.create(
        team=team, name=name, prefix=text[:_PREFIX_CHARS], digest=_digest(text), scopes=sorted(set(scopes)),
        created_by=by, expires_at=expires_at,
    )  # fmt: skip
    return text


@transaction.atomic
def issue_for(
    request: HttpRequest, team: Team, name: str, scopes: Sequence[str], expires_at: dt.datetime | None = None
) -> str:
    """The same for the person who asks, and written down."""
    by = request.user if isinstance(request.user, User) else None
    text = issue(team, name, scopes, by=by, expires_at=expires_at)
    until = f", until {expires_at:%Y-%m-%d}" if expires_at else ""
    audit(
        request, team, Area.TOKEN, f"made the token “{name}” ({text[:_PREFIX_CHARS]}…) for {', '.join(scopes)}{until}"
    )
    return text


def valid(team: Team, text: str) -> bool:
    """Whether `text` is a token of this team with all scopes that is neither revoked nor expired."""
    token = Token.objects.filter(team=team, digest=_digest(text), revoked_at=None).first()
    if token is None or set(SCOPES) - set(token.scopes):
        return False
    return token.expires_at is None or token.expires_at > timezone.now()


def of(team: Team) -> QuerySet[Token]:
    """Return the team's tokens that were not revoked, newest first."""
    rows = Token.objects.filter(team=team, revoked_at=None).select_related("created_by")
    return rows.order_by("-created_at", "-pk")


def find(team: Team, text: str) -> int | None:
    """Return the number of the team's token with this text; None where there is none, or it was revoked."""
    return of(team).filter(digest=_digest(text)).values_list("pk", flat=True).first()


def ended(team: Team, most: int) -> list[Token]:
    """The newest of the team's tokens that were revoked."""
    rows = Token.objects.filter(team=team).exclude(revoked_at=None).select_related("created_by")
    return list(rows.order_by("-revoked_at")[:most])


@transaction.atomic
def revoke(request: HttpRequest, team: Team, token_id: int) -> str:
    """Make one of the team's tokens worthless and return its name; raises Http404 where it is none of theirs."""
    token = get_object_or_404(of(team).select_for_update(of=("self",)), pk=token_id)
    token.revoked_at = timezone.now()
    token.save(update_fields=["revoked_at"])
    audit(request, team, Area.TOKEN, f"revoked the token “{token.name}” ({token.prefix}…)")
    return token.name


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
