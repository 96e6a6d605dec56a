"""Scenarios while they go on: what was known at some second of a round."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ingest.detection.facts import Kind, Worker
from ingest.detection.slow_phase import Live, Open, Seen, usual
from roundwatch.wire import KIND_NUMBER
from tests.ingest.detection.histories import history, nanoseconds, spans
from tests.ingest.scenarios import Did, Scenario


def live(
    scenario: Scenario,
    at_s: float,
    *,
    index: int | None = None,
    seen: Mapping[str, Seen] | None = None,
    errors_ns: dict[str, int] | None = None,
    cold: frozenset[int] = frozenset({0}),
) -> Live:
    """The last round (or `index`) of `scenario` at `at_s` seconds since the scenario's begin."""
    round_index = len(scenario.rounds) - 1 if index is None else index
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    now = nanoseconds(at_s)
    mine = [did for did in scenario.phases if did.round == round_index and did.begin_s <= at_s]
    ended = [did for did in mine if did.end_s <= at_s]
    past = history(scenario, upto=round_index - 1, cold=cold) if round_index else history(replace(scenario, rounds=()))
    known = {lane: Seen(heard_ns=now) for lane in lanes.values()}
    known |= {lanes[name]: one for name, one in (seen or {}).items()}
    return Live(
        round=round_index,
        workers=tuple(
            Worker(
                lane=lanes[who.name],
                name=who.name,
                role=who.role,
                machine=who.machine,
                host=who.machine,
                group=who.group or "",
                site=who.site or "",
                device=who.device,
            )
            for who in scenario.workers
        ),
        spans=spans(ended, lanes, errors_ns=errors_ns) if ended else _none(),
        opens=tuple(
            _open(did, lanes, number, now, (errors_ns or {}).get(did.worker, 1_000_000))
            for number, did in enumerate(scenario.phases)
            if did in mine and did.end_s > at_s
        ),
        seen=known,
        usual=usual(past),
        now_ns=now,
        last_end_ns=max(
            [nanoseconds(did.end_s) for did in scenario.phases if did.end_s <= at_s], default=nanoseconds(0)
        ),
    )


def _open(did: Did, lanes: dict[str, int], number: int, now: int, error_ns: int) -> Open:
    return Open(
        lane=lanes[did.worker], attempt=lanes[did.worker], start=number, name=did.name,
        kind=Kind(KIND_NUMBER[did.kind]), round=did.round, begin_ns=nanoseconds(did.begin_s), seen_ns=now,
        parent=-1 if did.parent is None else did.parent, thread=did.thread, error_ns=error_ns,
        after=did.attrs.get("after", ""),
    )  # fmt: skip


def _none() -> "np.ndarray":
    made = spans([Did("nobody", 0, "none", 0, 1)], {"nobody": 0})
    columns = {name: getattr(made, name)[:0] for name in made.__slots__ if name != "names"}
    return replace(made, **columns)
