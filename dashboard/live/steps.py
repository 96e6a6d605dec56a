"""A step by rank and phase as the page reads it: seconds, null where a rank has none or none is known."""

import math
from typing import Any

from ingest.detection.collectives import NAMES, Verdict
from ingest.detection.facts import Floats
from ingest.queries.anatomy import StepAnatomy
from roundwatch.wire import KINDS


def step_json(step: StepAnatomy) -> dict[str, Any]:
    """Parts in the order in which they begin; of each rank its seconds in each, and how much of that it waited.

    `verdicts` are of ranks that reduce together; `ranks`, `culprit` and `victim` are positions among all ranks.
    """
    parts = step.parts
    seconds, waited = _rows(parts.seconds), _rows(parts.waited)
    return {
        "round": step.index,
        "generation": step.generation,
        "seconds": None if step.end_ns is None else (step.end_ns - step.begin_ns) / 1e9,
        "parts": [
            {"name": name, "kind": KINDS[kind], "collective": name in NAMES}
            for name, kind in zip(parts.names, parts.kinds, strict=True)
        ],
        "ranks": [
            {"lane": rank.lane, "name": rank.name, "group": rank.group, "seconds": spent, "waited": of_that}
            for rank, spent, of_that in zip(parts.ranks, seconds, waited, strict=True)
        ],
        "verdicts": [_verdict(ranks, found) for ranks, found in step.verdicts],
    }


def _verdict(ranks: list[int], found: Verdict | None) -> dict[str, Any]:
    if found is None:
        return {"ranks": ranks, "culprit": None}
    fields = ("waited_s", "share", "blamed", "critical", "cause", "excess_s", "abstained")
    who = {"ranks": ranks, "culprit": ranks[found.culprit], "victim": ranks[found.victim]}
    return who | {name: getattr(found, name) for name in fields}


def _rows(matrix: Floats) -> list[list[float | None]]:
    """Seconds to the nanosecond."""
    return [[None if math.isnan(each) else round(each, 9) for each in row] for row in matrix.tolist()]
