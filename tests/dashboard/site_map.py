"""The site's own map, walked: every path that it answers, so that no new one can be forgotten by a test."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

# A link's secret is the whole of what it takes, whoever has it; of a round its run decides.
ANYBODYS = {"secret": "no-such-secret", "index": "0"}
# What names something of a team, where there is no such thing. A parameter that a new path brings must be added here.
NOTHING = {
    "run_id": str(uuid.uuid4()), "token_id": "987654321", "slug": "no-team-that-is-1", "alert_id": str(uuid.uuid4()),
    "rule_id": "987654321", "channel_id": "987654321", "interval_id": "987654321",
    "member_id": "987654321",
    "comparable_id": "987654321", "investigation_id": "987654321",
    "export_id": str(uuid.uuid4()),
}  # fmt: skip


@dataclass(frozen=True)
class Way:
    """A path of the site; `things` are its parameters that name something of a team."""

    path: str
    things: frozenset[str]

    def to(self, things: dict[str, str]) -> str:
        """Its path to these things."""
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: (things | ANYBODYS)[found[1]], self.path)


def ways(patterns: list[Any] | None = None, before: str = "/") -> Iterator[Way]:
    """All paths that the site answers, as its own map has them."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + (pattern.pattern._route if hasattr(pattern.pattern, "_route") else "api/nothing")
        if isinstance(pattern, URLResolver):
            yield from ways(pattern.url_patterns, route)
        else:
            assert isinstance(pattern, URLPattern)
            yield Way(route, frozenset(pattern.pattern.converters) - set(ANYBODYS))
