"""Tokens as their holders show them: looked up by hash, remembered for a few seconds so that revocation works
soon.
"""

import datetime as dt
import hashlib
import time
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from ingest.models import Token
from ingest.store.known import Known

# Well below the 30 s within which a revoked token must be refused.
_REMEMBER_S = 10.0
_NOTE_USE_EVERY = dt.timedelta(minutes=1)
_MAX_HEADER_CHARS = 512


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A valid token: the team that it speaks for, and what it may do (ingest, read, admin)."""

    id: int
    team_id: UUID
    scopes: frozenset[str]
    expires_at: dt.datetime | None

    def may(self, scope: str) -> bool:
        """Whether the token is good for `scope` now."""
        return scope in self.scopes and (self.expires_at is None or self.expires_at > timezone.now())


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a look-up said, and when (monotonic seconds)."""

    at: float
    token: TokenInfo | None


_seen: Known[bytes, Remembered] = Known(10_000)


def authenticate(header: str | None) -> TokenInfo | None:
    """The token of an Authorization header, or None where there is none that is valid. May ask the database."""
    digest = digest_of(header)
    if digest is None:
        return None
    known = remembered(digest)
    return known.token if known else look_up(digest)


def digest_of(header: str | None) -> bytes | None:
    """The hash under which the bearer token of an Authorization header is kept; None where it holds none."""
    scheme, _, text = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not text or len(text) > _MAX_HEADER_CHARS:
        return None
    return hashlib.sha256(text.strip().encode()).digest()


def remembered(digest: bytes) -> Remembered | None:
    """What was found for the hash in the last seconds; never asks the database."""
    known = _seen.get(digest)
    return known if known and time.monotonic() - known.at < _REMEMBER_S else None


def look_up(digest: bytes) -> TokenInfo | None:
    """Ask the database, remember the answer, and note now and then that the token was used."""
    now = timezone.now()
    live = Q(expires_at=None) | Q(expires_at__gt=now)
    row = Token.objects.filter(live, digest=digest, revoked_at=None).first()
    info = None
    if row is not None:
        info = TokenInfo(row.pk, row.team_id, frozenset(row.scopes), row.expires_at)
        if row.last_used_at is None or now - row.last_used_at > _NOTE_USE_EVERY:
            Token.objects.filter(pk=row.pk).update(last_used_at=now)
    _seen.put(digest, Remembered(time.monotonic(), info))
    return info
