"""What detection says of a window of rounds: verdicts that become findings, and what it could not have seen."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 128

# A span that a verdict marks: (attempt, start, lane, round).
Mark = tuple[int, int, int, int]


def fingerprint(kind: str, *, since: int | None, phase: str) -> str:
    """What stays the same however often an incident is judged: its kind, its phase and, of a single one, its round."""
    head = f"{kind}:" if since is None else f"{kind}@{since}:"
    if len(head) + len(phase) <= _LONGEST:
        return head + phase
    return head + hashlib.sha256(phase.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One incident. `observed` was measured; `hypothesis` is what may explain it, empty where nothing does.

    `fingerprint` is the same for the same incident however often it is judged. `resolved_ns` is None while it
    lasts. `workers` are names, `rounds` indices; times are Unix nanoseconds on the server's clock.
    """

    kind: str
    fingerprint: str
    phase: str
    severity: str
    observed: str
    hypothesis: str
    workers: tuple[str, ...]
    rounds: tuple[int, ...]
    marks: tuple[Mark, ...]
    opened_ns: int
    resolved_ns: int | None
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What could be seen of one phase in one cohort: the smallest ratio, or None and the reason why nothing could."""

    phase: str
    role: str
    group: str
    workers: int
    smallest_ratio: float | None
    abstained: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All that one window gave: `once` are incidents of that window alone, `lasting` those that go on over rounds."""

    once: tuple[Verdict, ...]
    lasting: tuple[Verdict, ...]
    sights: tuple[Sight, ...]
