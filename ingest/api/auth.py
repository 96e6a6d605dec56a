"""Tokens as their holders show them: looked up by hash, remembered for seconds, so that revocation works soon."""

import datetime as dt
import hashlib
import time
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from ingest.queries import tokens
from ingest.store.known import Known
from ingest.store.tokens import note_use

# A revoked token must be refused within 30 s: well below it while the database can be asked.
_REMEMBER_S = 10.0
_REMEMBER_UNASKED_S = 30.0
# From then on it is looked up again while it is still remembered, so that who goes on sending never waits for that.
_REFRESH_S = 5.0
_NOTE_USE_EVERY = dt.timedelta(minutes=1)
_MAX_HEADER_CHARS = 512


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A valid token: the team that it speaks for, what it may do (ingest, read, admin), and how people know it."""

    id: int
    team_id: UUID
    scopes: frozenset[str]
    expires_at: dt.datetime | None
    shown: str

    @property
    def expired(self) -> bool:
        """Whether its time is over, which may be while it is remembered."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    def may(self, scope: str) -> bool:
        """Whether the token is good for `scope` now."""
        return scope in self.scopes and not self.expired


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a look-up said, and when (monotonic seconds)."""

    at: float
    token: TokenInfo | None

    @property
    def ages(self) -> bool:
        """Whether it is time to look it up again."""
        return time.monotonic() - self.at >= _REFRESH_S


_seen: Known[bytes, Remembered] = Known(10_000)
# Apart, so that a flood of made-up tokens cannot push out those that are good.
_unknown: Known[bytes, Remembered] = Known(10_000)


def forget() -> None:
    """Forget what was looked up."""
    _seen.clear()
    _unknown.clear()


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
    known = _seen.get(digest) or _unknown.get(digest)
    return known if known and time.monotonic() - known.at < _REMEMBER_S else None


def found_lately(digest: bytes) -> TokenInfo | None:
    """The token as it was found within 30 s: what counts while the database cannot be asked."""
    known = _seen.get(digest)
    return known.token if known and time.monotonic() - known.at < _REMEMBER_UNASKED_S else None


def look_up(digest: bytes) -> TokenInfo | None:
    """Ask the database, remember the answer, and note now and then that the token was used."""
    now = timezone.now()
    row = tokens.valid(digest, now)
    if row is None:
        _seen.forget(digest)
        _unknown.put(digest, Remembered(time.monotonic(), None))
        return None
    info = TokenInfo(row.pk, row.team_id, frozenset(row.scopes), row.expires_at, str(row))
    if row.last_used_at is None or now - row.last_used_at > _NOTE_USE_EVERY:
        note_use(row.pk, now)
    _unknown.forget(digest)
    _seen.put(digest, Remembered(time.monotonic(), info))
    return info
