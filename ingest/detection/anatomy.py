"""The anatomy of a step: what each rank spent in each phase, and how much of its collectives was waiting."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection import leaf
from ingest.detection.collectives import NAMES, Step, waits
from ingest.detection.facts import Flags, Floats, Ints, Kind, Spans, Worker

Call = tuple[str, str]  # the process group and the number within it, as the training named them; empty where it did not
Group = tuple[str, int, str]  # a cohort, the number of a collective's name, and its process group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anatomy:
    """A step's ranks by its phases, in the order in which these begin; seconds, NaN where a rank has none.

    `seconds` is leaf time, `waited` the part of it that a collective waited, NaN where that is not known; `before` the
    leaf time before the rank's last collective, which is what can have made it late.
    """

    ranks: tuple[Worker, ...]
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    seconds: Floats
    waited: Floats
    before: Floats

    @property
    def collective(self) -> list[int]:
        """The columns of collectives."""
        return [at for at, name in enumerate(self.names) if name in NAMES]

    def steps(self, step_s: float) -> list[tuple[Ints, Step]]:
        """Which ranks reduce together, as positions, and what `collectives.verdict` takes of them."""
        cohorts: dict[str, list[int]] = defaultdict(list)
        for at, rank in enumerate(self.ranks):
            cohorts[rank.group].append(at)
        return [(np.array(rows), self._step(rows, step_s)) for rows in cohorts.values()]

    def _step(self, rows: Sequence[int], step_s: float) -> Step:
        taken = [at for at in self.collective if np.isfinite(self.seconds[rows, at]).any()]
        waited = self.waited[np.ix_(rows, taken)].sum(axis=1) if taken else np.full(len(rows), np.nan)
        parts = {
            name: self.before[rows, at]
            for at, name in enumerate(self.names)
            if name not in NAMES and self.kinds[at] != Kind.WAIT
        }
        return Step(waited=waited, parts=parts, step_s=step_s)


def anatomy(spans: Spans, ranks: Sequence[Worker], said: Mapping[tuple[int, int], Call]) -> Anatomy:
    """The anatomy of one round from its `spans`; `said` tells by (attempt, start) of what collective a span is part."""
    around = leaf.parents(spans)
    kinds = leaf.kinds(spans, around)
    row = _rows(spans, ranks)
    used, first = _used(spans, row)
    column = np.full(len(spans.names), -1, np.int64)
    column[used] = np.arange(len(used))
    table = _Table(row, column[spans.name], (len(ranks), len(used)))
    pieces = leaf.pieces(spans, around)
    lengths = (pieces.end - pieces.begin) / 1e9
    waited, is_call = _waited(spans, ranks, row, said)
    early = pieces.end <= _last_call(row, is_call, spans, len(ranks))[pieces.group]
    return Anatomy(
        ranks=tuple(ranks),
        names=tuple(spans.names[each] for each in used),
        kinds=tuple(Kind(int(kinds[at])) for at in first),
        seconds=table.sums(pieces.group, lengths),
        waited=table.sums(np.flatnonzero(is_call), waited[is_call]),
        before=table.sums(pieces.group[early], lengths[early]),
    )


def waiting_ns(spans: Spans, ranks: Sequence[Worker]) -> Ints:
    """For how long from its begin each span only waited for other ranks, where collectives meet in their order."""
    waited, _ = _waited(spans, ranks, _rows(spans, ranks), {})
    return np.rint(np.nan_to_num(waited) * 1e9).astype(np.int64)


def of_all(spans: Spans) -> Flags:
    """Which spans are parts of collectives of all with all."""
    named = np.array([name in NAMES for name in spans.names], np.bool_)
    found: Flags = named[spans.name] & (spans.kind == Kind.TRANSFER)
    return found


@dataclass(frozen=True, slots=True)
class _Table:
    """Where each span belongs: rank by phase, -1 where it does not."""

    row: Ints
    column: Ints
    shape: tuple[int, int]

    def sums(self, span: Ints, values: Floats) -> Floats:
        """Sums of the values by their spans' place; NaN where there is none."""
        found = np.full(self.shape, np.nan)
        kept = (self.row[span] >= 0) & (self.column[span] >= 0)
        at = self.row[span][kept], self.column[span][kept]
        found[at] = 0.0
        np.add.at(found, at, values[kept])
        return found


def _rows(spans: Spans, ranks: Sequence[Worker]) -> Ints:
    """Of each span the position of its rank, -1 for others'."""
    place = {rank.lane: at for at, rank in enumerate(ranks)}
    return np.array([place.get(lane, -1) for lane in spans.lane.tolist()], np.int64)


def _waited(
    spans: Spans, ranks: Sequence[Worker], row: Ints, said: Mapping[tuple[int, int], Call]
) -> tuple[Floats, Flags]:
    """Of each span how long it waited in a collective, NaN where that is not known; and whether it is part of one."""
    call, members = _calls(spans, ranks, row, said)
    is_call = call >= 0
    waited = np.full(len(spans), np.nan)
    waited[is_call] = waits(call[is_call], (spans.end_ns - spans.begin_ns)[is_call] / 1e9, members[is_call])
    return waited, is_call


def _used(spans: Spans, row: Ints) -> tuple[Ints, Ints]:
    """The names that ranks have, by when the first of each begins, and one span of each."""
    mine = np.flatnonzero(row >= 0)
    order = mine[np.argsort(spans.begin_ns[mine], kind="stable")]
    names, first = np.unique(spans.name[order], return_index=True)
    by_begin = np.argsort(first)
    return names[by_begin], order[first[by_begin]]


def _last_call(row: Ints, is_call: Flags, spans: Spans, ranks: int) -> Ints:
    """For each span when its rank's last collective begins; without one, never."""
    last = np.full(ranks + 1, -1, np.int64)
    np.maximum.at(last, row[is_call], spans.begin_ns[is_call])
    last[last < 0] = np.iinfo(np.int64).max
    return last[row]


def _calls(spans: Spans, ranks: Sequence[Worker], row: Ints, said: Mapping[tuple[int, int], Call]) -> tuple[Ints, Ints]:
    """Of each span the number of its collective, -1 for none, and how many ranks have a part in that, -1 if not known.

    Without a number of its own a collective is the rank's first, second ... of its name and process group.
    """
    mine = np.flatnonzero((row >= 0) & of_all(spans))
    mine = mine[np.argsort(spans.begin_ns[mine], kind="stable")]
    identities = zip(spans.attempt[mine].tolist(), spans.start[mine].tolist(), strict=True)
    told = [said.get(identity, ("", "")) for identity in identities]
    of_rank = row[mine].tolist()
    groups = [
        (ranks[rank].group, name, process_group)
        for rank, name, (process_group, _) in zip(of_rank, spans.name[mine].tolist(), told, strict=True)
    ]
    call, members = np.full(len(spans), -1, np.int64), np.full(len(spans), -1, np.int64)
    call[mine] = _numbered(groups, of_rank, [seq for _, seq in told])
    members[mine] = _members(groups, of_rank, ranks)
    return call, members


def _numbered(groups: Sequence[Group], of_rank: Sequence[int], seqs: Sequence[str]) -> list[int]:
    numbers: dict[tuple[Group, str | int], int] = {}
    passed: Counter[tuple[Group, int]] = Counter()
    found = []
    for group, rank, seq in zip(groups, of_rank, seqs, strict=True):
        passed[group, rank] += 1
        found.append(numbers.setdefault((group, seq or passed[group, rank]), len(numbers)))
    return found


def _members(groups: Sequence[Group], of_rank: Sequence[int], ranks: Sequence[Worker]) -> list[int]:
    """How many ranks each group has; -1 where one of its cohort has no such collective: it may have been last in it."""
    taking: dict[Group, set[int]] = defaultdict(set)
    seen: dict[tuple[str, int], set[int]] = defaultdict(set)
    for group, rank in zip(groups, of_rank, strict=True):
        taking[group].add(rank)
        seen[group[:2]].add(rank)
    cohort = Counter(rank.group for rank in ranks)
    return [len(taking[group]) if len(seen[group[:2]]) == cohort[group[0]] else -1 for group in groups]
