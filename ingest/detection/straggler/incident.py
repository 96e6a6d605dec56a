"""From slow cells to a verdict: who, which rounds, which spans, and a machine that all of them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingest.detection import machines
from ingest.detection.facts import Flags, History, Worker
from ingest.detection.straggler import wording
from ingest.detection.straggler.context import Context
from ingest.detection.verdicts import Mark, Verdict, fingerprint

KIND = "straggler"
MOST_MARKS = 512  # of a verdict; the newest are kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """What one cohort gives to an incident; `opened`, `resolved` and `latest` are rows of its context."""

    context: Context
    columns: tuple[int, ...]
    hits: Flags
    latest: int
    opened: int
    resolved: int | None

    def window(self, row: int) -> int:
        """The place in the history of a row."""
        return self.context.cohort.window[row]


def verdict(history: History, phase: str, parts: Sequence[Part], *, lasting: bool) -> Verdict:
    """The incident that `parts` (one for each cohort with slow workers) make together."""
    windows = history.windows
    opened = min(part.window(part.opened) for part in parts)
    ended = [part.window(part.resolved) for part in parts if part.resolved is not None]
    over = len(ended) == len(parts)
    # An open incident tells of those that are in it now; one that is over tells of all.
    telling = [part for part in parts if over or part.resolved is None]
    flagged = [part.context.cohort.workers[column] for part in telling for column in part.columns]
    shared = _shared_machine(telling, flagged)
    rounds = sorted({index for part in parts for row in _hit_rows(part) for index in windows[part.window(row)].rounds})
    return Verdict(
        kind=KIND,
        fingerprint=fingerprint(KIND, since=None if lasting else windows[opened].rounds[0], phase=phase),
        phase=phase,
        severity=_severity(telling) if lasting else "warning",
        observed=wording.observed(phase, telling, history.words, lasting=lasting),
        hypothesis=machines.told(shared, len(flagged)) if shared else "",
        workers=tuple(worker.name for worker in flagged),
        rounds=tuple(rounds),
        marks=_marks(history, phase, parts),
        opened_ns=windows[opened].end_ns,
        resolved_ns=windows[max(ended)].end_ns if over else None,
        evidence=_evidence(telling, shared, lasting=lasting),
    )


def _shared_machine(parts: Sequence[Part], flagged: Sequence[Worker]) -> Worker | None:
    names = {worker.name for worker in flagged}
    every = [worker for part in parts for worker in part.context.cohort.workers]
    return machines.shared(flagged, [worker for worker in every if worker.name not in names])


def _hit_rows(part: Part) -> list[int]:
    rows: list[int] = np.flatnonzero(part.hits.any(axis=1)).tolist()
    return rows


def _severity(parts: Sequence[Part]) -> str:
    for part in parts:
        context = part.context
        share = context.rows[part.latest].excess / context.cohort.round_s[part.latest]
        if (share[part.hits[part.latest]] >= context.policy.page_share).any():
            return "critical"
    return "warning"


def _marks(history: History, phase: str, parts: Sequence[Part]) -> tuple[Mark, ...]:
    spans = history.spans
    slow = {
        (index, part.context.cohort.workers[column].lane)
        for part in parts
        for row, column in zip(*(found.tolist() for found in np.nonzero(part.hits)), strict=True)
        for index in history.windows[part.window(row)].rounds
    }
    if phase not in spans.names:
        return ()
    own = np.flatnonzero(spans.name == spans.names.index(phase))
    own = own[np.argsort(spans.begin_ns[own], kind="stable")]
    columns = (spans.attempt[own], spans.start[own], spans.lane[own], spans.round[own])
    found = [mark for mark in zip(*(column.tolist() for column in columns), strict=True) if (mark[3], mark[2]) in slow]
    return tuple(found[-MOST_MARKS:])


def _evidence(parts: Sequence[Part], shared: Worker | None, *, lasting: bool) -> dict[str, Any]:
    policy = parts[0].context.policy
    return {
        "rule": "lasting" if lasting else "one round",
        "ratio_needed": policy.lasting_ratio if lasting else policy.ratio,
        "machine": shared.machine if shared else None,
        "cohorts": [_cohort(part, lasting=lasting) for part in parts],
    }


def _cohort(part: Part, *, lasting: bool) -> dict[str, Any]:
    context, at = part.context, part.latest
    first, row = context.cohort.workers[0], context.rows[at]
    return {
        "role": first.role,
        "group": first.group or None,
        "workers": int(np.isfinite(context.cohort.seconds[at]).sum()),
        "most_slow": bool(context.most[at]),
        "sigma": _figure(row.sigma),
        "heavy_tails": _figure(row.heavy),
        "smallest_ratio": _figure(row.smallest_ratio),
        "slow": [_worker(part, column, lasting=lasting) for column in part.columns],
    }


def _worker(part: Part, column: int, *, lasting: bool) -> dict[str, Any]:
    context, at = part.context, part.latest
    rows = np.flatnonzero(part.hits[:, column])
    at = int(rows[-1]) if len(rows) else at
    row, itself = context.rows[at], bool(context.by_itself[at, column])
    return {
        "worker": context.cohort.workers[column].name,
        "seconds": _figure(context.cohort.seconds[at, column]),
        "reference_s": _figure(row.reference[column]),
        "excess_s": _figure(row.excess[column]),
        "ratio": _figure(row.ratio[column]),
        "z": _figure(row.z[column]),
        "z_needed": _figure(context.least_z if itself else context.z_needed(row, lasting=lasting)),
        "against": "itself" if itself else "peers",
    }


def _figure(value: float) -> float | None:
    """A number as JSON has it: what is not finite is not known."""
    return round(float(value), 6) if np.isfinite(value) else None
