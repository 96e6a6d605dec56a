"""Findings: each verdict becomes one row for its fingerprint, changed by compare-and-swap until both agree."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from ingest.detection.verdicts import Verdict
from ingest.models import Finding, Run
from ingest.models.findings import FindingState, Severity
from ingest.store import outbox, standings

_MOST_SPANS = 512
_TRIES = 20
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NO_LONGER = "Records that came later show no slow worker."


@dataclass(frozen=True, slots=True)
class _Content:
    """All of a finding that a verdict decides."""

    state: str
    severity: str
    observed: str
    hypothesis: str
    phase: str
    workers: list[str]
    rounds: list[int]
    spans: list[list[int]]
    evidence: dict[str, Any]
    opened_at: dt.datetime
    resolved_at: dt.datetime | None

    def fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


Changed = list[Finding]


def put_once(run: Run, kind: str, first_round: int, verdicts: Sequence[Verdict]) -> Changed:
    """Store what the window that begins with `first_round` gave by itself; returns the findings that changed.

    What an earlier judgement of the same window said and this one does not is withdrawn: the row stays,
    resolved and without workers, since somebody may have been told of it.
    """
    changed = [_put(run, verdict, _content(verdict)) for verdict in verdicts]
    stale = _of(run, kind).filter(fingerprint__startswith=f"{kind}@{first_round}:").exclude(workers=[])
    return _filled([*changed, *(_withdraw(row) for row in _but(stale, verdicts))])


def put_lasting(run: Run, kind: str, known_from: int, verdicts: Sequence[Verdict], *, quiet: bool = False) -> Changed:
    """Store the incidents over several rounds as of the newest window; returns the findings that changed.

    `known_from` is the first round that was looked at: of earlier ones a finding keeps what it said. An open
    incident that is not among `verdicts` is over. With `quiet`, nobody is told of those that are over once opened.
    """
    changed = [_put(run, verdict, _content(verdict), known_from=known_from, quiet=quiet) for verdict in verdicts]
    forgotten = _of(run, kind).filter(fingerprint__startswith=f"{kind}:", state=FindingState.OPEN)
    return _filled([*changed, *(_resolve(row, timezone.now()) for row in _but(forgotten, verdicts))])


def put_one(run: Run, verdict: Verdict) -> Finding | None:
    """Store one verdict, whatever others there are of its kind; returns the finding if it changed."""
    return _put(run, verdict, _content(verdict))


def resolve_one(row: Finding, at: dt.datetime, observed: str) -> Finding | None:
    """Close an incident, and say so; returns it if nobody else has changed it meanwhile."""
    over = {"state": FindingState.RESOLVED, "resolved_at": max(at, row.opened_at), "observed": observed}
    return _swap(row, over) or None


def withdraw_one(row: Finding, why: str = _NO_LONGER, *, quiet: bool = False) -> Finding | None:
    """Take back what is no longer so; returns the finding if it changed. With `quiet`, people hear of an open one."""
    return _withdraw(row, why, told=not quiet or row.state == FindingState.OPEN)


def resolve_of_ended_runs() -> dict[UUID, list[Finding]]:
    """Resolve what is open in runs that have ended; returns what changed, by run."""
    rows = Finding.objects.filter(state=FindingState.OPEN, run__ended_at__isnull=False).select_related("run")
    changed: dict[UUID, list[Finding]] = {}
    for row in _filled([_resolve(row, row.run.ended_at or timezone.now()) for row in rows]):
        changed.setdefault(row.run_id, []).append(row)
    return changed


def _of(run: Run, kind: str) -> Any:
    return Finding.objects.filter(run=run, kind=kind)


def _but(rows: Any, verdicts: Collection[Verdict]) -> list[Finding]:
    told = {verdict.fingerprint for verdict in verdicts}
    return [row for row in rows if row.fingerprint not in told]


def _filled(rows: Sequence[Finding | None]) -> list[Finding]:
    return [row for row in rows if row is not None]


def _content(verdict: Verdict) -> _Content:
    return _Content(
        state=FindingState.OPEN if verdict.resolved_ns is None else FindingState.RESOLVED,
        severity=verdict.severity,
        observed=verdict.observed,
        hypothesis=verdict.hypothesis,
        phase=verdict.phase,
        workers=list(verdict.workers),
        rounds=list(verdict.rounds),
        spans=[list(mark) for mark in verdict.marks],
        evidence=verdict.evidence,
        opened_at=_moment(verdict.opened_ns),
        resolved_at=None if verdict.resolved_ns is None else _moment(verdict.resolved_ns),
    )


def _put(run: Run, verdict: Verdict, content: _Content, *, known_from: int = 0, quiet: bool = False) -> Finding | None:
    for lost in range(_TRIES):
        with transaction.atomic():
            rows = _of(run, verdict.kind).filter(fingerprint=verdict.fingerprint)
            # Who was too late once waits for the row: with the outbox in its transaction a winner holds it longer.
            row = (rows.select_for_update() if lost else rows).first()
            wanted = _until_the_end(run, content if row is None else _continued(row, content, known_from))
            if row is None:
                if (opened := _opened(run, verdict, wanted, quiet=quiet)) is not None:
                    return opened
            elif (swapped := _swap(row, wanted.fields())) is not False:
                return swapped
    raise RuntimeError(f"finding {verdict.fingerprint} of run {run.pk} changes faster than it can be stored")


@transaction.atomic
def _opened(run: Run, verdict: Verdict, content: _Content, *, quiet: bool) -> Finding | None:
    """The new row, told of in the outbox unless it is over and that is `quiet`; None where somebody was quicker."""
    row, made = Finding.objects.get_or_create(
        run=run,
        fingerprint=verdict.fingerprint,
        defaults={"kind": verdict.kind, "updated_at": timezone.now(), **content.fields()},
    )
    if made and not (quiet and row.state == FindingState.RESOLVED):
        outbox.note_opened(row)
    standings.note([run.pk])
    return row if made else None


def _continued(row: Finding, content: _Content, known_from: int) -> _Content:
    """The content, with what the row says of rounds that were not looked at and of its own beginning."""
    earlier = [index for index in row.rounds if index < known_from]
    spans = [span for span in row.spans if span[3] < known_from]
    # One that names no rounds opened when it first did: what is looked at moves on with each window.
    known = bool(earlier) or not content.rounds
    goes_on = known and (row.resolved_at is None or row.resolved_at >= content.opened_at)
    return replace(
        content,
        rounds=sorted({*earlier, *content.rounds}),
        spans=[*spans, *content.spans][-_MOST_SPANS:],
        opened_at=min(row.opened_at, content.opened_at) if goes_on else content.opened_at,
    )


def _until_the_end(run: Run, content: _Content) -> _Content:
    if run.ended_at is None or content.resolved_at is not None:
        return content
    # What only the time after the end shows is opened then.
    return replace(content, state=FindingState.RESOLVED, resolved_at=max(run.ended_at, content.opened_at))


def _withdraw(row: Finding, why: str = _NO_LONGER, *, told: bool = True) -> Finding | None:
    gone = {"workers": [], "spans": [], "observed": why, "hypothesis": "", "severity": Severity.INFO}
    return _swap(row, {**gone, "state": FindingState.RESOLVED, "evidence": {}}, withdrawn=told) or None


def _resolve(row: Finding, at: dt.datetime) -> Finding | None:
    return _swap(row, {"state": FindingState.RESOLVED, "resolved_at": max(at, row.opened_at)}) or None


@transaction.atomic
def _swap(row: Finding, fields: dict[str, Any], *, withdrawn: bool = False) -> Finding | Literal[False] | None:
    """Change the row if nobody else has: the changed row, None where nothing differs, False where it was too late."""
    if all(getattr(row, name) == value for name, value in fields.items()):
        return None
    now, before = timezone.now(), row.state
    changed = Finding.objects.filter(pk=row.pk, version=row.version).update(
        **fields, version=F("version") + 1, updated_at=now
    )
    if not changed:
        return False
    row.refresh_from_db()
    outbox.note_change(row, before, withdrawn=withdrawn)
    standings.note([row.run_id])
    return row


def _moment(time_ns: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=time_ns // 1000)
