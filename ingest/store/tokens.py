"""What is written about tokens as they are used."""

import datetime as dt

from ingest.models import Token


def note_use(token_id: int, now: dt.datetime) -> None:
    """The token was used."""
    Token.objects.filter(pk=token_id).update(last_used_at=now)
