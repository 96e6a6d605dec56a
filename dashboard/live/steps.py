"""A step by rank and phase as the page reads it: seconds, null where a rank has none or none is known."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ingest.detection.anatomy import Anatomy
from ingest.detection.collectives import NAMES, Verdict
from ingest.detection.facts import Floats
from ingest.queries.anatomy import StepAnatomy
from roundwatch.wire import KINDS

MOST_PARTS = 32  # a run may name 512 phases, and nobody reads so many columns


def step_json(step: StepAnatomy) -> dict[str, Any]:
    """Parts in the order in which they begin; of each rank its seconds in each, and how much of that it waited.

    `left_out` counts phases beyond those listed, which are the collectives and the longest. `verdicts` are of ranks
    that reduce together; `ranks`, `culprit` and `victim` are positions among all ranks.
    """
    parts = step.parts
    shown = _shown(parts)
    seconds, waited = _rows(parts.seconds[:, shown]), _rows(parts.waited[:, shown])
    return {
        "round": step.index,
        "generation": step.generation,
        "seconds": None if step.end_ns is None else (step.end_ns - step.begin_ns) / 1e9,
        "parts": [
            {"name": parts.names[at], "kind": KINDS[parts.kinds[at]], "collective": parts.names[at] in NAMES}
            for at in shown
        ],
        "left_out": len(parts.names) - len(shown),
        "ranks": [
            {"lane": rank.lane, "name": rank.name, "group": rank.group, "seconds": spent, "waited": of_that}
            for rank, spent, of_that in zip(parts.ranks, seconds, waited, strict=True)
        ],
        "verdicts": [_verdict(ranks, found) for ranks, found in step.verdicts],
    }


def _shown(parts: Anatomy) -> Sequence[int]:
    total = np.nansum(parts.seconds, axis=0)
    total[parts.collective] = np.inf
    longest = np.argsort(-total, kind="stable")[:MOST_PARTS]
    return sorted(longest.tolist())


def _verdict(ranks: list[int], found: Verdict | None) -> dict[str, Any]:
    if found is None:
        return {"ranks": ranks, "culprit": None}
    fields = ("waited_s", "share", "blamed", "critical", "cause", "excess_s", "abstained")
    who = {"ranks": ranks, "culprit": ranks[found.culprit], "victim": ranks[found.victim]}
    return who | {name: getattr(found, name) for name in fields}


def _rows(matrix: Floats) -> list[list[float | None]]:
    """Seconds to the nanosecond."""
    return [[None if math.isnan(each) else round(each, 9) for each in row] for row in matrix.tolist()]
