"""Who was let in to news of a team lately: every open page asks again and again, and is looked up once in a while."""

import time

KNOWN_S = 30.0
_MOST = 10_000

# By session and team (its slug): until when (monotonic) that holds.
_known: dict[tuple[str, str], float] = {}


def let_in(session: str, team: str, now: float | None = None) -> None:
    """Take note that whoever has this session may hear of that team, for KNOWN_S seconds from `now` (monotonic)."""
    if len(_known) >= _MOST:
        _known.clear()
    _known[session, team] = (time.monotonic() if now is None else now) + KNOWN_S


def is_in(session: str, team: str, now: float | None = None) -> bool:
    """Whether they were, and it still holds."""
    return _known.get((session, team), 0.0) > (time.monotonic() if now is None else now)
