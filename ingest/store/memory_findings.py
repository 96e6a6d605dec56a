"""Findings of memory: what its rules say of a run's workers together, as of the newest window or after the end."""

from collections.abc import Sequence
from dataclasses import replace

from ingest.detection import memory
from ingest.detection.memory import Held
from ingest.detection.thresholds import Thresholds
from ingest.detection.verdicts import Verdict
from ingest.models import Finding, Run
from ingest.models.findings import FindingState
from ingest.store import findings
from ingest.store.findings import Changed

WHILE_IT_RUNS = (memory.GROWTH, memory.CYCLE)
# What the last collections freed may be told only after the last window was judged.
AFTER_IT_ENDED = (memory.RETAINED, memory.CYCLE)


def keep(run: Run, kinds: Sequence[str], known_from: int, held: Sequence[Held], limits: Thresholds) -> Changed:
    """Bring the findings of these kinds up to what is said of memory; returns those that changed.

    `known_from` is the first round that was looked at. An incident that goes on keeps its begin.
    """
    verdicts = limits.said(memory.together(memory.judge(one, limits.memory) for one in held))
    opened = _opened(run, kinds)
    changed: Changed = []
    for kind in kinds:
        said = [_since(one, opened.get(one.fingerprint)) for one in verdicts if one.kind == kind]
        changed += findings.put_lasting(run, kind, known_from, said)
    return changed


def _opened(run: Run, kinds: Sequence[str]) -> dict[str, int]:
    """When the open ones began, by fingerprint; Unix nanoseconds."""
    rows = Finding.objects.filter(run=run, kind__in=kinds, state=FindingState.OPEN)
    known = rows.values_list("fingerprint", "opened_at")
    return {fingerprint: round(at.timestamp() * 1e6) * 1000 for fingerprint, at in known}


def _since(verdict: Verdict, opened_ns: int | None) -> Verdict:
    return verdict if opened_ns is None else replace(verdict, opened_ns=min(opened_ns, verdict.opened_ns))
