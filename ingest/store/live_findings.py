"""Findings of rounds that go on: opened, kept up to date and resolved by whoever looks; a closed verdict joins them."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils import timezone

from ingest.detection.verdicts import Mark, Verdict, fingerprint
from ingest.models import Finding, Run, Stream
from ingest.models.findings import FindingState
from ingest.store import asks, findings
from ingest.store.findings import Changed

SLOW = "slow_phase"
KINDS = frozenset({SLOW, "stalled", "missing", "worker_lost", "run_stalled"})
CLOSED = "cohorts"  # evidence that only a closed round gives
STACKS = "stacks"
_TELL_AGAIN = dt.timedelta(seconds=5)  # how long it went on is said anew so often
_MOST_MARKS = 512
_MOST_ASKED = 8  # processes of one finding, for their thread stacks
_OVER = "It is over. When last looked at: "


@dataclass(frozen=True, slots=True)
class Kept:
    """Findings that changed, and the phases (attempt, start number) that have just become slow."""

    changed: Changed
    joined: list[tuple[int, int]]


def open_now(run_id: UUID) -> dict[str, Finding]:
    """The run's open findings of these kinds, by fingerprint."""
    rows = Finding.objects.filter(run_id=run_id, kind__in=KINDS, state=FindingState.OPEN)
    return {row.fingerprint: row for row in rows}


def keep(run_id: UUID, known: Mapping[str, Finding], verdicts: Sequence[Verdict], kinds: Collection[str]) -> Kept:
    """Bring the open findings `known` of a run up to what a look at it says, for all of `kinds`.

    What is open and not among `verdicts` is over. To be called with the run's judging held, by whoever looked.
    """
    run, now, kept = Run.objects.get(pk=run_id), timezone.now(), Kept([], [])
    for verdict in verdicts:
        row = known.get(verdict.fingerprint)
        if verdict.kind not in kinds or (row is not None and not _says_more(row, verdict, now)):
            continue
        if verdict.kind == SLOW:
            kept.joined.extend(_joined(row, verdict))
        if (changed := findings.put_one(run, _going_on(row, verdict))) is not None:
            kept.changed.append(changed)
    told = {verdict.fingerprint for verdict in verdicts}
    for row in known.values():
        if row.kind in kinds and row.fingerprint not in told:
            over = findings.resolve_one(row, now, _OVER + row.observed)
            kept.changed.extend([over] if over else [])
    return kept


def ask_for_stacks(run_id: UUID, phases: Sequence[tuple[int, int]]) -> None:
    """Ask the processes of some of these phases (attempt, start number) for their thread stacks."""
    wanted = dict(phases[:_MOST_ASKED])
    for stream, attempt in Stream.objects.filter(run_id=run_id, index__in=wanted).values_list("pk", "index"):
        asks.ask_for_stacks(stream, wanted[attempt])


def take_closed(run: Run, rounds: Sequence[int], verdicts: Sequence[Verdict]) -> tuple[Changed, list[Verdict]]:
    """Let findings of phases that were slow while they ran say what their closed round says of them.

    Returns what changed, and the verdicts for which there is no such finding. A window of several rounds says nothing
    of one of them.
    """
    if len(rounds) != 1:
        return [], list(verdicts)
    slow = Finding.objects.filter(run=run, kind=SLOW, fingerprint__startswith=f"{SLOW}@{rounds[0]}:")
    rows = {row.fingerprint: row for row in slow}
    changed: list[Finding | None] = []
    left: list[Verdict] = []
    for verdict in verdicts:
        row = rows.pop(fingerprint(SLOW, since=rounds[0], phase=verdict.phase), None)
        if row is None:
            left.append(verdict)
        else:
            changed.append(findings.put_one(run, _ended(row, verdict)))
    changed += [findings.withdraw_one(row) for row in rows.values() if CLOSED in row.evidence]
    return [row for row in changed if row is not None], left


def _says_more(row: Finding, verdict: Verdict, now: dt.datetime) -> bool:
    """Whether it is worth a new version: who, where, why; and now and then how long."""
    new = [mark for mark in verdict.marks if list(mark) not in row.spans]
    return bool(
        new
        or row.workers != list(verdict.workers)
        or row.hypothesis != verdict.hypothesis
        or row.evidence.get(STACKS) != verdict.evidence.get(STACKS)
        or now - row.updated_at >= _TELL_AGAIN
    )


def _joined(row: Finding | None, verdict: Verdict) -> list[tuple[int, int]]:
    known = [] if row is None else row.spans
    return [mark[:2] for mark in verdict.marks if list(mark) not in known]


def _going_on(row: Finding | None, verdict: Verdict) -> Verdict:
    """The verdict, with the marks of phases that have ended meanwhile and since when there was any."""
    if row is None:
        return verdict
    marks: dict[Mark, None] = dict.fromkeys([*((a, b, c, d) for a, b, c, d in row.spans), *verdict.marks])
    opened_ns = min(verdict.opened_ns, round(row.opened_at.timestamp() * 1e6) * 1000)
    return replace(verdict, marks=tuple(marks)[-_MOST_MARKS:], opened_ns=opened_ns)


def _ended(row: Finding, verdict: Verdict) -> Verdict:
    """What a closed round says, under the name of the finding that was told while it went on."""
    stacks = {STACKS: row.evidence[STACKS]} if STACKS in row.evidence else {}
    opened_ns = round(row.opened_at.timestamp() * 1e6) * 1000
    return replace(
        verdict, kind=SLOW, fingerprint=row.fingerprint, opened_ns=opened_ns, evidence={**verdict.evidence, **stacks}
    )
