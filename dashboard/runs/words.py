"""Figures as people read them: durations, shares and ages, always with their unit."""

from datetime import datetime, timedelta

from dashboard.teams.names import legible
from ingest.queries.run_list import RunRow

_NBSP = "\N{NO-BREAK SPACE}"
_FINDINGS = {"straggler": "slow", "interval_failed": "check failed:"}


def seconds(value: float | None) -> str:
    """A time span of one round or phase: 199 µs, 21 ms, 0.61 s, 52.3 s, 6 min 52 s; a dash where unknown."""
    if value is None:
        return "–"
    if 0 < value < 0.0009995:  # as the live page says it
        return f"{value * 1e6:.0f}{_NBSP}µs"
    if value < 0.0995:
        return f"{value * 1000:.3g}{_NBSP}ms"
    if value >= 99.95:
        return _long(round(value))
    return f"{value:.{2 if value < 9.995 else 1}f}{_NBSP}s"


def duration(span: timedelta) -> str:
    """How long a run took, as its own page says it: 45 s, 3 min 36 s, 3 h 05 min, 2 d 03 h."""
    total = span.total_seconds()
    if total < 1:
        return f"<{_NBSP}1{_NBSP}s"
    return f"{int(total)}{_NBSP}s" if total < 100 else _long(round(total))


def _long(total: int) -> str:
    """A hundred seconds and more, in the two units that count."""
    minutes, rest = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes}{_NBSP}min{_NBSP}{rest:02}{_NBSP}s"
    if hours < 24:
        return f"{hours}{_NBSP}h{_NBSP}{minutes:02}{_NBSP}min"
    days, hours = divmod(hours, 24)
    return f"{days}{_NBSP}d{_NBSP}{hours:02}{_NBSP}h"


def ago(then: datetime, now: datetime) -> str:
    """How long ago in one unit, the date beyond a month."""
    age = (now - then).total_seconds()
    if age < 10:
        return "just now"
    for unit, size, limit in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 86400), ("d", 86400, 30 * 86400)):
        if age < limit:
            return f"{age // size:.0f}{_NBSP}{unit} ago"
    return f"{then:%d %b %Y}"


def percent(share: float | None) -> str:
    """A share of 1 in whole percent; a dash where unknown."""
    return "–" if share is None else f"{100 * share:.0f}{_NBSP}%"


def findings(row: RunRow) -> str:
    """How many findings a run has and what the foremost says, open ones first: "2 open: slow encode"."""
    if row.finding is None:
        return ""
    count = f"{row.open_findings} open" if row.open_findings else f"{row.all_findings} resolved"
    return f"{count}: {finding_words(row.finding.kind, legible(row.finding.phase))}"


def finding_words(kind: str, phase: str) -> str:
    """What a finding says in a word or two: "slow encode", "check failed: to applied"."""
    what = _FINDINGS.get(kind, kind)
    return f"{what} {phase}" if phase else what.removesuffix(":")
