"""Who asks for news: every open page does so again and again, and is known for a while without being looked up."""

import time

from django.conf import settings
from django.http import HttpRequest

KNOWN_S = 30.0  # as long is who has changed their password taken for signed in where they were
_MOST = 10_000

# By the key of a session: the person, and until when (monotonic) that holds.
_known: dict[str, tuple[int, float]] = {}


def hearer(request: HttpRequest) -> tuple[int, str] | None:
    """The person who asks and the key of their session, None for a visitor.

    Whether that session is still there, and the account open, is for the one who answers to see.
    """
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    person, until = _known.get(key, (0, 0.0))
    if until > time.monotonic():
        return person, key
    user = request.user
    if not user.is_authenticated or request.session.session_key != key:
        return None
    if len(_known) >= _MOST:
        _known.clear()
    _known[key] = user.pk, time.monotonic() + KNOWN_S
    return user.pk, key
