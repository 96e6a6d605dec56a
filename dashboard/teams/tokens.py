"""Tokens of a team: made here, shown once, kept as a hash (ingest.models.Token)."""

import hashlib
import secrets
from collections.abc import Sequence

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone

from dashboard.teams.models import Team
from ingest.models import Token

SCOPES = ("ingest", "read", "admin")
_SECRET_BYTES = 32
_PREFIX_CHARS = 10


def issue(team: Team, name: str, scopes: Sequence[str]) -> str:
    """Make a token and return its text, which cannot be had again.

    Raises ValueError for no scope, or one that is not in SCOPES.
    """
    if not scopes or set(scopes) - set(SCOPES):
        raise ValueError(f"scopes must be some of {', '.join(SCOPES)}, not {', '.join(scopes) or 'none'}")
    text = "rw_" + secrets.token_urlsafe(_SECRET_BYTES)
    Token.objects.create(
        team=team, name=name, prefix=text[:_PREFIX_CHARS], digest=_digest(text), scopes=sorted(set(scopes))
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
    return Token.objects.filter(team=team, revoked_at=None).order_by("-created_at", "-pk")


def find(team: Team, text: str) -> int | None:
    """Return the number of the team's token with this text; None where there is none, or it was revoked."""
    return of(team).filter(digest=_digest(text)).values_list("pk", flat=True).first()


def revoke(team: Team, token_id: int) -> str:
    """Make one of the team's tokens worthless and return its name; raises Http404 where it is none of theirs."""
    token = get_object_or_404(of(team), pk=token_id)
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    return token.name


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
