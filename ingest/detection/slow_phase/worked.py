"""How long an open phase has worked: from its begin, or from the end of what it waited for, without what is nested."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.detection.facts import Worker
from ingest.detection.slow_phase.ground import Ground
from ingest.detection.slow_phase.live import Open


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """Leaf seconds of an open phase, as of `seen_ns`; `paused` while a phase nested in it is open.

    `slack_s` is what clock errors make uncertain of it (infinite where a clock is unknown). `earlier_s` of it are of
    earlier times of the phase, `progress` are its readings since: (leaf seconds worked then, share done).
    """

    seconds: float
    slack_s: float
    paused: bool
    seen_ns: int
    earlier_s: float
    progress: tuple[tuple[float, float], ...]

    def reaches_at(self, seconds: float) -> int:
        """When it will have worked so long, Unix nanoseconds on the server's clock, if it goes on."""
        return self.seen_ns + round((seconds + self.slack_s - self.seconds) * 1e9)


def worked(
    ground: Ground, one: Open, workers: Mapping[int, Worker], waits: str, *, repeats: bool
) -> tuple[Worked, tuple[int, ...]]:
    """How long `one` has worked in this round, and the lanes whose phase `waits` has yet to end.

    Earlier times of the phase in this round count with it, unless it `repeats`: then each is by itself.
    """
    begin_ns, slack_s, missing = _counted_from(ground, one, workers, waits)
    around = (one.attempt, one.start, one.thread)
    nested = ground.opened.get(around)
    inside = sorted(ground.ended.get(around, ()))

    def by(when_ns: int) -> float:
        until = when_ns if nested is None else min(nested, when_ns)
        return (max(0, until - begin_ns) - _covered(inside, begin_ns, until)) / 1e9

    earlier_s = 0.0 if repeats else ground.earlier.get((one.lane, one.name), 0.0)
    time = Worked(
        seconds=earlier_s + by(one.seen_ns), slack_s=slack_s, paused=nested is not None, seen_ns=one.seen_ns,
        earlier_s=earlier_s, progress=tuple((by(when), share) for when, share in one.progress if when > begin_ns),
    )  # fmt: skip
    return time, missing


def _counted_from(
    ground: Ground, one: Open, workers: Mapping[int, Worker], waits: str
) -> tuple[int, float, tuple[int, ...]]:
    """Begin in nanoseconds, slack in seconds, and the lanes that keep it waiting."""
    if not waits:
        return one.begin_ns, 0.0, ()
    found, lanes = ground.awaited(waits), ground.live.spans.lane
    missing = tuple(sorted(found.missing - {one.lane}))
    last = next(((end, place) for end, place in found.ends if lanes[place] != one.lane), None)
    if last is None or last[0] <= one.begin_ns:
        return one.begin_ns, 0.0, missing
    return last[0], _slack(ground, one, workers, last[1]), missing


def _slack(ground: Ground, one: Open, workers: Mapping[int, Worker], place: int) -> float:
    spans = ground.live.spans
    other, here = workers.get(int(spans.lane[place])), workers[one.lane].machine
    if other is not None and other.machine == here and here:
        return 0.0
    errors = (one.error_ns, int(spans.error_ns[place]))
    return float("inf") if min(errors) < 0 else sum(errors) / 1e9


def _covered(intervals: Iterable[tuple[int, int]], least: int, most: int) -> int:
    """Nanoseconds of [least, most) that the intervals, sorted, cover together."""
    total, reached = 0, least
    for begin, end in intervals:
        if min(end, most) > reached:
            total += min(end, most) - max(begin, reached)
            reached = min(end, most)
    return total
