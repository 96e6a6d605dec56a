"""Tokens by the hash of what their holders show."""

import datetime as dt

from django.db.models import Q

from ingest.models import Token


def valid(digest: bytes, now: dt.datetime) -> Token | None:
    """The token of that hash which is neither revoked nor expired."""
    live = Q(expires_at=None) | Q(expires_at__gt=now)
    return Token.objects.filter(live, digest=digest, revoked_at=None).first()
