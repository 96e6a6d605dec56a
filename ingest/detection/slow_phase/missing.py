"""Who is missing: its peers have ended a phase that this worker has not begun."""

from dataclasses import dataclass

import numpy as np

from ingest.detection.durations import RENDEZVOUS, cohort_of
from ingest.detection.facts import Kind
from ingest.detection.slow_phase.context import Context
from ingest.detection.slow_phase.limits import limits, needed
from ingest.detection.slow_phase.usual import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A worker that has not begun what its peers have ended; `since_ns` is its last end, `limit_s` what was granted."""

    lane: int
    phase: str
    since_ns: int
    limit_s: float
    finished: int
    peers: int


def missing(context: Context) -> list[Missing]:
    """Who has nothing open and has not begun the next phase, though enough of its peers have ended it.

    Eligible are workers that did the phase in each of the last rounds and have not ended this one. Granted are the
    gap before it that its peers had in this round, and the limit for slow; whose begin depends on others is not
    missed.
    """
    live = context.live
    busy = {one.lane for one in live.opens}
    following: dict[int, tuple[int, Key]] = {}
    for key, before in live.usual.phases.items():
        lanes, seconds = context.finished.get(key, ((), np.empty(0)))
        idle = before.last - set(lanes) - busy - live.cold - live.done
        if not idle or before.repeats or key[0] in RENDEZVOUS or len(seconds) < needed(len(before.last) - 1):
            continue
        begun = _first_begin(context, key)
        following |= {lane: (begun, key) for lane in idle if (begun, key) < following.get(lane, (begun + 1, key))}
    found = (_missing(context, key, lane) for lane, (_, key) in sorted(following.items()))
    return [one for one in found if one is not None]


def _missing(context: Context, key: Key, lane: int) -> Missing | None:
    live, spans = context.live, context.live.spans
    mine = spans.lane == lane
    if not context.there(lane) or not mine.any() or (spans.kind[mine] == Kind.WAIT).all():
        return None
    name = spans.names.index(key[0])
    if bool((spans.name[mine] == name).any()):
        return None
    seconds, peers = context.peers_of(key, lane)
    bounds = limits(
        seconds, peers, live.usual.phases.get(key), live.usual.round_s, context.policy,
        work=live.usual.phases[key].work.get(lane, 1.0),
    )  # fmt: skip
    since = int(spans.end_ns[mine].max())
    granted = _gap_s(context, key) + bounds.slow_s
    if live.now_ns - since < granted * 1e9:
        return None
    return Missing(lane=lane, phase=key[0], since_ns=since, limit_s=granted, finished=len(seconds), peers=peers)


def _first_begin(context: Context, key: Key) -> int:
    return int(context.live.spans.begin_ns[_spans_of(context, key)].min())


def _spans_of(context: Context, key: Key) -> list[int]:
    """Where the ended spans of a phase and cohort are."""
    spans, workers = context.live.spans, context.workers
    places: list[int] = np.flatnonzero(spans.name == spans.names.index(key[0])).tolist()
    lanes, kinds = spans.lane.tolist(), spans.kind.tolist()
    return [at for at in places if lanes[at] in workers and cohort_of(workers[lanes[at]], Kind(kinds[at])) == key[1]]


def _gap_s(context: Context, key: Key) -> float:
    """The longest time that a peer let pass in this round between its end before and the begin of the phase."""
    spans, longest = context.live.spans, 0
    for place in _spans_of(context, key):
        begin = int(spans.begin_ns[place])
        before = (spans.lane == spans.lane[place]) & (spans.end_ns <= begin)
        if before.any():
            longest = max(longest, begin - int(spans.end_ns[before].max()))
    return longest / 1e9
