"""What a round consists of: leaf pieces of phases, waits, and instants that others wait for, all within its bounds."""

from dataclasses import dataclass

import numpy as np

from ingest.detection import leaf
from ingest.detection.columns import numbered
from ingest.detection.facts import Flags, Ints, Kind, Spans, Worker
from ingest.detection.waits import awaited

# Nobody leaves one of these before all have come: each waits for the others to begin it.
ALL_TO_ALL = frozenset({"allreduce", "allgather", "reducescatter", "barrier"})


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Disjoint leaf time as columns: whose span it is of, and from when to when (Unix nanoseconds)."""

    span: Ints
    begin: Ints
    end: Ints

    def chosen(self, flags: Flags) -> "Pieces":
        """Those for which `flags` is true."""
        return Pieces(self.span[flags], self.begin[flags], self.end[flags])


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Who waits for whom, by the number of a meeting: `key` for each row.

    A row of `mark_*` is an instant `mark_at` that the span `mark_span` reached and others wait for; a row of
    `want_*` says that the span `want_span` waits for the marks of that key: `want_before` for those until it begins,
    else for those until it ends.
    """

    mark_span: Ints
    mark_at: Ints
    mark_key: Ints
    mark_begins: Flags  # whether the mark is its span's begin, not its end
    want_span: Ints
    want_key: Ints
    want_before: Flags


def pieces(spans: Spans, begin_ns: int, end_ns: int) -> tuple[Pieces, Pieces, Ints]:
    """Leaf time within [begin_ns, end_ns) that works, that waits, and the kind of each span."""
    around = leaf.parents(spans)
    kinds = leaf.kinds(spans, around)
    cut = leaf.pieces(spans, around).clipped(begin_ns, end_ns)
    every = Pieces(cut.group, cut.begin, cut.end).chosen(cut.end > cut.begin)
    waits = kinds[every.span] == Kind.WAIT
    return every.chosen(~waits), every.chosen(waits), kinds


def meetings(spans: Spans, workers: tuple[Worker, ...]) -> Meetings:
    """All that spans wait for: the end of a named phase in their round, or the begin of the same collective.

    Collectives meet by their place among those of their name in the worker's round, within its group. Whoever waits
    for a coordinator's phase is let go by what that does last before: each of its phases until then is waited for.
    """
    every = np.arange(len(spans))
    wanted = awaited(spans)
    waiting = np.flatnonzero(wanted >= 0)
    ends = every[np.isin(spans.name, wanted[waiting])]
    together = np.array([name in ALL_TO_ALL for name in spans.names], np.bool_)
    collective = every[together[spans.name]] if len(every) else every
    leading, led = _led(spans, workers, wanted)
    place, group = _places(spans, collective), _groups(spans, workers)[collective]
    families = (
        _Family(spans, 0, ends, spans.name[ends]), _Family(spans, 0, waiting, wanted[waiting]),
        _Family(spans, 1, collective, spans.name[collective], place, group), _Family(spans, 2, leading),
        _Family(spans, 2, led),
    )  # fmt: skip
    columns = [np.concatenate([family.columns[at] for family in families]) for at in range(5)]
    sizes = [len(family.columns[0]) for family in families]
    of_end, of_want, of_collective, of_leading, of_led = np.split(numbered(*columns)[0], np.cumsum(sizes)[:-1])
    return Meetings(
        mark_span=np.concatenate([ends, leading, collective]),
        mark_at=np.concatenate([spans.end_ns[ends], spans.end_ns[leading], spans.begin_ns[collective]]),
        mark_key=np.concatenate([of_end, of_leading, of_collective]),
        mark_begins=np.repeat([False, True], [len(ends) + len(leading), len(collective)]),
        want_span=np.concatenate([waiting, collective, led]),
        want_key=np.concatenate([of_want, of_collective, of_led]),
        want_before=np.repeat([False, True], [len(waiting) + len(collective), len(led)]),
    )


class _Family:
    """What tells one meeting of a family from another: round, name, place and group of each span, where they matter."""

    def __init__(self, spans: Spans, family: int, chosen: Ints, *more: Ints) -> None:
        nothing = np.zeros(len(chosen), np.int64)
        rest = [*more, *[nothing] * (3 - len(more))]
        self.columns = (nothing + family, spans.round[chosen], *rest)


def _led(spans: Spans, workers: tuple[Worker, ...], wanted: Ints) -> tuple[Ints, Ints]:
    """The phases of coordinators, and the spans of others that wait for one of them."""
    lanes = np.array([worker.lane for worker in workers if worker.role == "coordinator"], np.int64)
    theirs = np.isin(spans.lane, lanes)
    leading = np.flatnonzero(theirs & (spans.kind != Kind.WAIT))
    done = numbered(np.concatenate([spans.round[leading], spans.round]), np.concatenate([spans.name[leading], wanted]))[
        0
    ]
    return leading, np.flatnonzero(~theirs & np.isin(done[len(leading) :], done[: len(leading)]))


def _places(spans: Spans, chosen: Ints) -> Ints:
    """The place of each chosen span among those of its name that its worker began in the round."""
    number, _ = numbered(spans.round[chosen], spans.lane[chosen], spans.name[chosen])
    order = np.lexsort((spans.start[chosen], spans.begin_ns[chosen], number))
    ordered = number[order]
    place = np.empty(len(chosen), np.int64)
    place[order] = np.arange(len(chosen)) - np.searchsorted(ordered, ordered)
    return place


def _groups(spans: Spans, workers: tuple[Worker, ...]) -> Ints:
    names = {worker.lane: worker.group for worker in workers}
    place = {name: at for at, name in enumerate(dict.fromkeys(["", *names.values()]))}
    lanes, back = np.unique(spans.lane, return_inverse=True)
    return np.array([place[names.get(lane, "")] for lane in lanes.tolist()], np.int64)[back]
