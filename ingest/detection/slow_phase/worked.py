"""How long an open phase has worked: from its begin, or from the end of what it waited for, without what is nested."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Ints, Worker
from ingest.detection.slow_phase.live import Live, Open, Presence, Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """Leaf seconds of an open phase, as of `seen_ns`; `paused` while a phase nested in it is open.

    `slack_s` is what clock errors make uncertain of it (infinite where a clock is unknown).
    """

    seconds: float
    slack_s: float
    paused: bool
    seen_ns: int

    def reaches_at(self, seconds: float) -> int:
        """When it will have worked so long, Unix nanoseconds on the server's clock, if it goes on."""
        return self.seen_ns + round((seconds + self.slack_s - self.seconds) * 1e9)


def worked(
    live: Live, one: Open, workers: Mapping[int, Worker], waits: str, *, repeats: bool
) -> tuple[Worked, tuple[int, ...]]:
    """How long `one` has worked in this round, and the lanes whose phase `waits` has yet to end.

    Earlier times of the phase in this round count with it, unless it `repeats`: then each is by itself.
    """
    begin_ns, slack_s, missing = _counted_from(live, one, workers, waits)
    nested = [
        other.begin_ns
        for other in live.opens
        if other.attempt == one.attempt and other.parent == one.start and other.thread == one.thread
    ]
    until = min([*nested, one.seen_ns])
    spans = live.spans
    children = (spans.attempt == one.attempt) & (spans.parent == one.start) & (spans.thread == one.thread)
    taken = _covered(spans.begin_ns[children], spans.end_ns[children], begin_ns, until)
    earlier = 0
    if not repeats and one.name in spans.names:
        own = (spans.lane == one.lane) & (spans.name == spans.names.index(one.name))
        earlier = int((spans.end_ns[own] - spans.begin_ns[own]).sum())
    seconds = (max(0, until - begin_ns) - taken + earlier) / 1e9
    return Worked(seconds=seconds, slack_s=slack_s, paused=bool(nested), seen_ns=one.seen_ns), missing


def _counted_from(
    live: Live, one: Open, workers: Mapping[int, Worker], waits: str
) -> tuple[int, float, tuple[int, ...]]:
    """Begin in nanoseconds, slack in seconds, and the lanes that keep it waiting."""
    spans = live.spans
    if not waits:
        return one.begin_ns, 0.0, ()
    theirs = spans.name == spans.names.index(waits) if waits in spans.names else np.zeros(len(spans), np.bool_)
    theirs = theirs & (spans.lane != one.lane)
    ended = set(spans.lane[theirs].tolist())
    at_it = {other.lane for other in live.opens if other.name == waits and other.round == live.round}
    running = {lane for lane in live.usual.doing(waits) if live.seen.get(lane, _UNSEEN).presence is Presence.RUNNING}
    if not live.usual.phases and not ended:
        running = set(workers)  # nobody knows yet who does it: anybody may
    missing = tuple(sorted((at_it | (running - ended)) - {one.lane}))
    late = theirs & (spans.end_ns > one.begin_ns)
    if not late.any():
        return one.begin_ns, 0.0, missing
    last = int(np.argmax(np.where(late, spans.end_ns, 0)))
    return int(spans.end_ns[last]), _slack(live, one, workers, last), missing


_UNSEEN = Seen(heard_ns=0)


def _slack(live: Live, one: Open, workers: Mapping[int, Worker], last: int) -> float:
    other = workers.get(int(live.spans.lane[last]))
    here = workers[one.lane].machine
    if other is not None and other.machine == here and here:
        return 0.0
    errors = (one.error_ns, int(live.spans.error_ns[last]))
    return float("inf") if min(errors) < 0 else sum(errors) / 1e9


def _covered(begins: Ints, ends: Ints, least: int, most: int) -> int:
    """Nanoseconds of [least, most) that the intervals cover together."""
    order = np.argsort(begins)
    total, reached = 0, least
    for begin, end in zip(begins[order].tolist(), ends[order].tolist(), strict=True):
        if min(end, most) > reached:
            total += min(end, most) - max(begin, reached)
            reached = min(end, most)
    return total
