"""How far two workers' times can be compared: the sum of both clock errors, nothing on one machine."""

from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Flags, Ints, Spans, Worker


@dataclass(frozen=True, slots=True, eq=False)
class Clocks:
    """For each lane its error in nanoseconds (0 where all are on one machine), whether it is known, its machine."""

    error_ns: Ints
    known: Flags
    machine: Ints

    def between(self, lane: Ints, other: Ints) -> Ints:
        """The uncertainty in nanoseconds of a difference between times of two lanes (row by row)."""
        same = (lane == other) | (self.machine[lane] == self.machine[other])
        return np.where(same, 0, self.error_ns[lane] + self.error_ns[other])


def clocks(spans: Spans, workers: tuple[Worker, ...]) -> Clocks:
    """The worst error that a lane's spans carry; unknown where any of them has none and machines differ."""
    count = 1 + max([-1, *(worker.lane for worker in workers), *spans.lane.tolist()])
    worst = np.zeros(count, np.int64)
    np.maximum.at(worst, spans.lane, spans.error_ns)
    unknown = np.zeros(count, np.bool_)
    unknown[spans.lane[spans.error_ns < 0]] = True
    names = {worker.lane: worker.machine for worker in workers}
    # A machine that nobody told of is no other's: such lanes get numbers of their own.
    numbers: dict[str, int] = {}
    machine = np.array(
        [numbers.setdefault(names[lane], len(numbers)) if names.get(lane) else count + lane for lane in range(count)],
        np.int64,
    )
    if len(np.unique(machine[np.unique(spans.lane)])) <= 1:
        return Clocks(np.zeros(count, np.int64), np.ones(count, np.bool_), machine)
    return Clocks(worst, ~unknown, machine)
