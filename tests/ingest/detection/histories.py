"""Scenarios as detection sees them: spans as columns, and one window for each round."""

from collections.abc import Sequence

import numpy as np

from ingest.detection.facts import Baseline, History, Spans, Window, Worker
from roundwatch.wire import KIND_NUMBER
from tests.ingest.scenarios import Did, Scenario

ORIGIN_NS = 1_790_000_000_000_000_000


def nanoseconds(seconds: float) -> int:
    return ORIGIN_NS + round(seconds * 1e9)


def spans(phases: Sequence[Did], lanes: dict[str, int], *, errors_ns: dict[str, int] | None = None) -> Spans:
    """Columns of `phases`; a phase's start number is its place among them."""
    names = tuple(dict.fromkeys([*(did.name for did in phases), *(did.attrs.get("after", "upload") for did in phases)]))
    place = {name: index for index, name in enumerate(names)}
    known = errors_ns or {}

    def ints(values: Sequence[int]) -> np.ndarray:
        return np.array(values, np.int64)

    return Spans(
        lane=ints([lanes[did.worker] for did in phases]),
        attempt=ints([lanes[did.worker] for did in phases]),
        start=ints(range(len(phases))),
        parent=ints([-1 if did.parent is None else did.parent for did in phases]),
        thread=ints([did.thread for did in phases]),
        name=ints([place[did.name] for did in phases]),
        kind=ints([KIND_NUMBER[did.kind] for did in phases]),
        round=ints([did.round for did in phases]),
        begin_ns=ints([nanoseconds(did.begin_s) for did in phases]),
        end_ns=ints([nanoseconds(did.end_s) for did in phases]),
        error_ns=ints([known.get(did.worker, 1_000_000) for did in phases]),
        after=ints([place[did.attrs["after"]] if "after" in did.attrs else -1 for did in phases]),
        items=np.array([did.attrs.get("items", np.nan) for did in phases], float),
        nbytes=np.array([did.attrs.get("nbytes", np.nan) for did in phases], float),
        names=names,
    )


def history(
    scenario: Scenario,
    *,
    upto: int | None = None,
    cold: frozenset[int] = frozenset({0}),
    errors_ns: dict[str, int] | None = None,
    baselines: tuple[Baseline, ...] = (),
) -> History:
    """The scenario as of round `upto` (the last by default); rounds in `cold` are everybody's warm-up."""
    last = len(scenario.rounds) - 1 if upto is None else upto
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    chosen = range(max(0, last - 20), last + 1)
    return History(
        workers=tuple(
            Worker(
                lane=lanes[who.name], name=who.name, role=who.role, machine=who.machine, host=who.machine,
                group=who.group or "", site=who.site or "", device=who.device,
            )
            for who in scenario.workers
        ),
        windows=tuple(
            Window(
                rounds=(index,), end_ns=nanoseconds(scenario.rounds[index][1]),
                round_s=scenario.rounds[index][1] - scenario.rounds[index][0],
                cold=frozenset(lanes.values()) if index in cold else frozenset(),
            )
            for index in chosen
        ),
        spans=spans(_upto(scenario, last), lanes, errors_ns=errors_ns),
        baselines=baselines,
    )  # fmt: skip


def _upto(scenario: Scenario, last: int) -> list[Did]:
    # A prefix, so that places (and with them parents and start numbers) stay what they were.
    count = max((place for place, did in enumerate(scenario.phases) if did.round <= last), default=-1) + 1
    return list(scenario.phases[:count])
