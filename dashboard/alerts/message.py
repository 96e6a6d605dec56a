"""What a message says: run, owner, round, who, since when, what it costs, what was seen, and where to look."""

import datetime as dt
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from dashboard.alerts import quiet
from dashboard.alerts.models import Alert, Channel
from dashboard.alerts.told import BEGINNINGS, Told
from dashboard.teams.names import legible
from ingest.detection import finding_kinds
from ingest.detection.wording import Words
from ingest.models import Finding
from ingest.models.findings import FindingState
from ingest.queries import run_words

Content = dict[str, Any]
_MOST_NAMES = 8
_MOST_TOLD = 20  # incidents in one message
_MOST_CHARS = 2000
_STATES = {Told.RESOLVED: "Over: ", Told.WITHDRAWN: "Withdrawn: ", Told.ESCALATED: "Nobody looks after it: "}


def content(alert: Alert, finding: Finding, happened: str) -> Content:
    """All that is told, as JSON; times are RFC 3339 UTC, costs seconds. Names are legible and cut."""
    run = finding.run
    begins = happened in BEGINNINGS
    over = finding.state == FindingState.RESOLVED or not begins
    told: Content = {
        "happened": happened,
        "over": over,
        "page": (alert.pages and begins) or happened == Told.ESCALATED,
        "alert": str(alert.pk),
        "finding": str(finding.pk),
        "kind": finding.kind,
        "phase": _name(finding.phase),
        "severity": finding.severity,
        "team": _name(run.team.name),
        "run": {"id": str(run.pk), "name": _name(run.name), "project": _name(run.project)},
        "workers": [_name(each) for each in finding.workers],
        "rounds": finding.rounds[-_MOST_NAMES:],
        "opened_at": _moment(finding.opened_at),
        "resolved_at": _moment(finding.resolved_at),
        "by": str(alert.changed_by) if happened == Told.RESOLVED and finding.state == FindingState.OPEN else None,
        "cost": cost(finding),
        "observed": _text(finding.observed),
        "hypothesis": _text(finding.hypothesis),
        "judged_with": _text("; ".join(each["words"] for each in finding.evidence.get("thresholds", []))),
        "url": link(finding),
        "inbox": settings.PUBLIC_URL + reverse("alerts:alert", args=[alert.pk]),
    }
    return told | {"title": title(told), "text": text(told, run_words.of_run(run.pk))}


def test_content(channel: Channel) -> Content:
    """What "send a test" sends."""
    told: Content = {
        "happened": Told.TEST, "over": True, "page": False, "alert": None, "team": _name(channel.team.name),
        "title": "Roundwatch: a test", "url": settings.PUBLIC_URL + reverse("alerts:channels"),
    }  # fmt: skip
    said = f"This is a test of “{_name(channel.name)}” of {told['team']}. {_arrives(channel)}"
    return told | {"text": f"{said}\n{told['url']}"}


def _arrives(channel: Channel) -> str:
    """What arrives through a channel, and from when on."""
    what = "Alerts that wake somebody" if channel.pages_only else "Alerts"
    if not channel.enabled:
        return "The channel is off: nothing but tests arrives here until somebody turns it on."
    until = quiet.until(channel, timezone.now())
    if until is None or (channel.pages_only and channel.quiet_pages):
        return f"{what} arrive here from now on."
    end = f"{quiet.local(channel, until):%H:%M} ({channel.quiet_zone})"
    told = f"It is quiet now: {what.lower()} arrive here from {end} on"
    return f"{told}, those that wake somebody at once." if channel.quiet_pages else f"{told}."


def summary(channel: Channel, held: Sequence[Content]) -> Content:
    """What is told in one message of incidents that opened in quiet hours and are over."""
    newest = {each["alert"]: each for each in held}
    told: Content = {
        "happened": Told.SUMMARY, "over": True, "page": False, "alert": None, "team": _name(channel.team.name),
        "alerts": list(newest), "url": settings.PUBLIC_URL + reverse("alerts:inbox"),
        "title": f"While it was quiet: {len(newest)} incident{'' if len(newest) == 1 else 's'}, none left open",
    }  # fmt: skip
    lines = [f"{each['title']}, since {each['opened_at']}" for each in list(newest.values())[:_MOST_TOLD]]
    more = [f"and {len(newest) - _MOST_TOLD} more"] if len(newest) > _MOST_TOLD else []
    return told | {"text": "\n".join([*lines, *more, told["url"]])}


def title(told: Content) -> str:
    """One line: what, where and who."""
    state = _STATES.get(told["happened"], "")
    return f"{state}{_line(told['kind'], told['phase'], told['workers'], told['run']['name'])}"


def line(finding: Finding) -> str:
    """The same of a finding that has opened."""
    return _line(finding.kind, _name(finding.phase), list(map(_name, finding.workers)), _name(finding.run.name))


def _line(kind: str, phase: str, workers: list[str], run: str) -> str:
    who = f" on {_names(workers)}" if workers else ""
    return f"{finding_kinds.headline(kind, phase)}{who} · {run}"


def text(told: Content, words: Words) -> str:
    """The same in lines that people read; what is not known is left out."""
    rounds = told["rounds"]
    lines = [
        ("Run", f"{told['run']['name']} ({told['run']['project']}), of {told['team']}"),
        (words.round.capitalize(), ", ".join(map(str, rounds))),
        ("Who", _names(told["workers"])),
        ("Since", told["opened_at"]),
        ("Over", told["resolved_at"]),
        ("Resolved by", told["by"]),
        ("Cost", cost_words(told["cost"], words)),
        ("Observed", told["observed"]),
        ("Hypothesis", told["hypothesis"]),
        ("Judged with", told["judged_with"]),
    ]
    return "\n".join([f"{label}: {said}" for label, said in lines if said] + [told["url"]])


def link(finding: Finding) -> str:
    """The live page of the run, at the finding's newest round, with its bar selected."""
    query: dict[str, Any] = {}
    if finding.rounds:
        query["round"] = finding.rounds[-1]
    if finding.spans:
        attempt, start, _, index = finding.spans[-1]
        query |= {"round": index, "sel": f"{attempt}.{start}"}
    path = reverse("live:run", args=[finding.run_id])
    return settings.PUBLIC_URL + path + (f"?{urlencode(query)}" if query else "")


def cost(finding: Finding) -> dict[str, float] | None:
    """Seconds that the slowest is behind its peers, and these times the peers that may wait for it; None if unknown."""
    known = [
        (excess, max(0, slow.get("peers", group.get("workers", 0) - len(group["slow"]))))
        for group in finding.evidence.get("cohorts", [finding.evidence])
        for slow in group.get("slow", ())
        if (excess := _excess(slow)) is not None
    ]
    if not known:
        return None
    excess, peers = max(known)
    return {"seconds": round(excess, 3), "gpu_seconds": round(excess * peers, 3)}


def _excess(slow: dict[str, Any]) -> float | None:
    if slow.get("excess_s") is not None:
        return float(slow["excess_s"])
    seconds, reference = slow.get("seconds"), slow.get("reference_s")
    return None if seconds is None or reference is None else float(seconds - reference)


def cost_words(known: dict[str, float] | None, words: Words) -> str:
    """A cost in words; empty where it is not known."""
    if known is None:
        return ""
    peers = f"{known['gpu_seconds']:.0f} GPU-seconds of peers that wait"
    return f"{known['seconds']:.1f} s a {words.round}, at most {peers}"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _name(name: str) -> str:
    return " ".join(legible(name).split())


def _text(said: str) -> str:
    return " ".join(legible(said).split())[:_MOST_CHARS]


def _moment(at: dt.datetime | None) -> str | None:
    return None if at is None else at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
