"""One round of each side, drawn as bars on a common axis of seconds from the round's begin: shapes for SVG."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.runs.comparing.figures import counted
from dashboard.runs.words import seconds
from dashboard.teams.names import legible
from ingest.detection import leaf
from ingest.detection.facts import Flags, Ints, Spans, Worker
from ingest.models import Run
from ingest.queries.comparing_phases import OneRound
from roundwatch.wire import KINDS

ROW = 18
MOST_LANES = 40
_MOST_STEPS = 6  # between ticks of the axis
_MOST_BARS = 2_400  # of all Gantts of a page
_MOST_ROWS = 40
_INSET = 4
_DIGITS = re.compile(r"([0-9]+)")
_UNITS = 1_000  # of the picture's width, a second


@dataclass(frozen=True, slots=True)
class Bar:
    """A phase: x and width in milliseconds from the round's begin, y and height in px."""

    x: float
    y: int
    width: float
    height: int
    kind: str
    says: str


@dataclass(frozen=True, slots=True)
class Summed:
    """A phase of the round in figures: how often, how long in total, and who was longest in it."""

    name: str
    kind: str
    times: int
    total: str
    longest: str
    worker: str


@dataclass(frozen=True, slots=True)
class Gantt:
    """A round of a run; `height` is in px, `left_out` says what is not drawn, "" for nothing."""

    side: str
    run: Run
    index: int
    wall_s: float
    lanes: list[str]
    bars: list[Bar]
    table: list[Summed]
    left_out: str

    @property
    def height(self) -> int:
        """Of all lanes."""
        return ROW * max(1, len(self.lanes))

    @property
    def wall_ms(self) -> float:
        """The round's end on the axis."""
        return round(self.wall_s * _UNITS, 3)

    @property
    def wall(self) -> str:
        """The round's wall time in words."""
        return seconds(self.wall_s)


def gantt(side: str, run: Run, found: OneRound, share: int) -> Gantt:
    """Draw a round; `share` is of how many Gantts on the page it is one."""
    row, spans = found.row, found.spans
    begin_ns, end_ns = row.begin_ns, row.end_ns or row.begin_ns
    lanes = _in_order(_lanes(spans), found.workers)
    drawn = np.isin(spans.lane, lanes)
    shown = _longest(spans, drawn, max(1, _MOST_BARS // share))
    depth = _depths(leaf.parents(spans))
    order = np.flatnonzero(shown)
    order = order[np.lexsort((depth[order], spans.begin_ns[order]))]
    place = {lane: at for at, lane in enumerate(lanes.tolist())}
    names = {lane: legible(worker.name) for lane, worker in found.workers.items()}
    bars = [
        _bar(spans, at, int(depth[at]), place[int(spans.lane[at])], names, begin_ns)
        for at in sorted(order.tolist(), key=lambda at: int(depth[at]))
    ]
    return Gantt(
        side, run, row.index, (end_ns - begin_ns) / 1e9, [names.get(lane, "") for lane in lanes.tolist()], bars,
        _table(spans, names), _left_out(spans, lanes, drawn, shown),
    )  # fmt: skip


def axis_ms(gantts: Sequence[Gantt]) -> float:
    """How far the common axis reaches: as far as the longest of the rounds."""
    return round(max((one.wall_s for one in gantts), default=0.0) * _UNITS, 3) or 1.0


def ticks(gantts: Sequence[Gantt]) -> list[tuple[float, str]]:
    """Where ticks are, in percent of the whole axis, and what stands there: round seconds, as axis.js says them."""
    all_s = axis_ms(gantts) / _UNITS
    least = all_s / _MOST_STEPS
    power = math.floor(math.log10(least))
    step = next(round_one * 10.0**power for round_one in (1, 2, 5, 10) if round_one * 10.0**power >= least)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    count = math.floor(all_s / step + 1e-9)
    return [
        (round(100 * at * step / all_s, 3), f"{at * step:.{digits}f}\N{NO-BREAK SPACE}s") for at in range(count + 1)
    ]


def _lanes(spans: Spans) -> Ints:
    """The lanes; of very many those whose work ended last."""
    lanes, number = np.unique(spans.lane, return_inverse=True)
    if len(lanes) <= MOST_LANES:
        return lanes
    ends = np.zeros(len(lanes), np.int64)
    np.maximum.at(ends, number, spans.end_ns)
    return np.sort(lanes[np.argsort(-ends, kind="stable")[:MOST_LANES]])


def _in_order(lanes: Ints, workers: dict[int, Worker]) -> Ints:
    """The lanes by role and name, numbers in names by their size: an order that rounds of two runs share."""

    def place(lane: int) -> tuple[str, list[str], int]:
        worker = workers.get(lane)
        if worker is None:
            return "", [], lane
        return worker.role, [part.zfill(20) if part.isdecimal() else part for part in _DIGITS.split(worker.name)], lane

    return np.array(sorted(lanes.tolist(), key=place), lanes.dtype)


def _longest(spans: Spans, drawn: Flags, most: int) -> Flags:
    rows = np.flatnonzero(drawn)
    if len(rows) <= most:
        return drawn
    length = spans.end_ns[rows] - spans.begin_ns[rows]
    found = np.zeros(len(drawn), np.bool_)
    found[rows[np.argsort(-length, kind="stable")[:most]]] = True
    return found


def _depths(around: Ints) -> Ints:
    """How many phases each lies within."""
    depth, at = np.zeros(len(around), np.int64), around.copy()
    while (at >= 0).any():
        depth += at >= 0
        at = np.where(at >= 0, around[at], -1)
    return depth


def _bar(spans: Spans, at: int, depth: int, place: int, names: dict[int, str], begin_ns: int) -> Bar:
    inset = min(_INSET * depth, ROW - 8)
    begin, length = (spans.begin_ns[at] - begin_ns) / 1e6, (spans.end_ns[at] - spans.begin_ns[at]) / 1e6
    name, worker = legible(spans.names[spans.name[at]]), names.get(int(spans.lane[at]), "")
    return Bar(
        round(float(begin), 3), ROW * place + 1 + inset, round(float(length), 3), ROW - 2 - inset,
        _kind(int(spans.kind[at])),
        f"{name} of {worker}: {seconds(float(length) / 1e3)}, from {seconds(max(0.0, float(begin)) / 1e3)}",
    )  # fmt: skip


def _table(spans: Spans, names: dict[int, str]) -> list[Summed]:
    length = (spans.end_ns - spans.begin_ns) / 1e9
    sums: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for name, lane, took in zip(spans.name.tolist(), spans.lane.tolist(), length.tolist(), strict=True):
        sums[name][lane] += took
    rows = []
    for name, by_lane in sorted(sums.items(), key=lambda pair: -sum(pair[1].values()))[:_MOST_ROWS]:
        lane = max(by_lane, key=lambda one: by_lane[one])
        own = spans.name == name
        rows.append(
            Summed(
                legible(spans.names[name]), _kind(int(spans.kind[own].min())), int(own.sum()),
                seconds(sum(by_lane.values())), seconds(by_lane[lane]), names.get(lane, ""),
            )
        )  # fmt: skip
    return rows


def _left_out(spans: Spans, lanes: Ints, drawn: Flags, shown: Flags) -> str:
    said = []
    if (more := len(np.unique(spans.lane)) - len(lanes)) > 0:
        said.append(f"{counted(more, 'worker')} that ended earlier")
    if (short := int(drawn.sum() - shown.sum())) > 0:
        said.append(f"the {counted(short, 'shortest phase')}")
    return " and ".join(said)


def _kind(number: int) -> str:
    return KINDS[number] if 0 <= number < len(KINDS) else "other"
