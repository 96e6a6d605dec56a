"""A round's facts by what they are asked for, computed once: a thousand open phases are looked at together."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ingest.detection import leaf
from ingest.detection.durations import own_seconds
from ingest.detection.slow_phase.live import Live, Presence
from ingest.detection.waits import counted_from

# Attempt, start number of the phase around, thread.
Around = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Awaited:
    """A phase that others wait for: `missing` lanes have yet to end it, `ends` are (end, place), the last first."""

    missing: frozenset[int]
    ends: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """`opened` is when the first open phase within another began, `ended` the (begin, end) of ended ones within it.

    `at_it` are the lanes that have a phase open in this round, `earlier` the seconds that a lane worked in
    ended times of a phase: leaf time from when on it waited for nobody. Times are Unix nanoseconds.
    """

    live: Live
    opened: Mapping[Around, int]
    ended: Mapping[Around, list[tuple[int, int]]]
    at_it: Mapping[str, frozenset[int]]
    earlier: Mapping[tuple[int, str], float]
    _awaited: dict[str, Awaited] = field(default_factory=dict)

    def awaited(self, phase: str) -> Awaited:
        """What is known of a phase that others wait for."""
        if phase not in self._awaited:
            self._awaited[phase] = self._look(phase)
        return self._awaited[phase]

    def _look(self, phase: str) -> Awaited:
        live, spans = self.live, self.live.spans
        places = np.flatnonzero(spans.name == spans.names.index(phase)).tolist() if phase in spans.names else []
        ended = {int(spans.lane[place]) for place in places}
        doing = live.usual.doing(phase)
        if not live.usual.phases and not ended:
            doing = frozenset(worker.lane for worker in live.workers)  # nobody knows yet who does it: anybody may
        running = {lane for lane in doing if lane in live.seen and live.seen[lane].presence is Presence.RUNNING}
        ends = sorted(((int(spans.end_ns[place]), place) for place in places), reverse=True)
        return Awaited(missing=self.at_it.get(phase, frozenset()) | (running - ended), ends=tuple(ends))


def ground(live: Live) -> Ground:
    """Look through all open and ended phases once."""
    opened: dict[Around, int] = {}
    at_it: dict[str, set[int]] = {}
    for one in live.opens:
        around = (one.attempt, one.parent, one.thread)
        opened[around] = min(one.begin_ns, opened.get(around, one.begin_ns))
        if one.round == live.round:
            at_it.setdefault(one.name, set()).add(one.lane)
    spans = live.spans
    ended: dict[Around, list[tuple[int, int]]] = {}
    columns = (spans.attempt, spans.parent, spans.thread, spans.begin_ns, spans.end_ns)
    for attempt, parent, thread, begin, end in zip(*(column.tolist() for column in columns), strict=True):
        if parent >= 0:
            ended.setdefault((attempt, parent, thread), []).append((begin, end))
    return Ground(
        live=live,
        opened=opened,
        ended=ended,
        at_it={name: frozenset(lanes) for name, lanes in at_it.items()},
        earlier=_earlier(live),
    )


def _earlier(live: Live) -> dict[tuple[int, str], float]:
    spans = live.spans
    parts, (begin, _) = leaf.pieces(spans, leaf.parents(spans)), counted_from(spans, live.workers)
    columns = (spans.lane, spans.name, own_seconds(spans, parts, begin))
    found: dict[tuple[int, str], float] = {}
    for lane, name, seconds in zip(*(column.tolist() for column in columns), strict=True):
        key = (lane, spans.names[name])
        found[key] = found.get(key, 0.0) + seconds
    return found
