"""The evidence of a round that goes on, computed once: who waits for whom, and how long each open phase has worked.

Eligible are open phases of this round on workers that are there and do not warm up, but for waits and for
phases in which a worker blocks until all have come. What blocks on others counts from the end of what it waits
for; while that has not ended, nothing is said. A phase around an open one stands still meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ingest.detection.durations import RENDEZVOUS, Cohort, cohort_of, cohorts
from ingest.detection.facts import Floats, History, Kind, Window, Worker
from ingest.detection.slow_phase.ground import Ground, ground
from ingest.detection.slow_phase.limits import Limits, limits
from ingest.detection.slow_phase.live import Live, Open, Presence, Seen
from ingest.detection.slow_phase.policy import Policy
from ingest.detection.slow_phase.usual import Key
from ingest.detection.slow_phase.worked import Worked, worked
from ingest.detection.waits import AWAITED

# By phase and cohort the lanes that ended it in this round, and after how many seconds each.
Finished = Mapping[Key, tuple[tuple[int, ...], Floats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An open phase beside its limits; `waits_for` names the workers without whom it cannot go on."""

    open: Open
    worker: Worker
    kind: Kind
    worked: Worked
    limits: Limits
    waits_for: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """What the rules look at; `finished` are this round's durations by phase and cohort, and whose they are.

    `members` are the lanes that do a phase: they did it in the last rounds, ended it in this one, or are in it.
    """

    live: Live
    policy: Policy
    workers: Mapping[int, Worker]
    judged: tuple[Judged, ...]
    finished: Finished
    members: Mapping[Key, frozenset[int]]

    def there(self, lane: int) -> bool:
        """Whether a worker runs and is heard."""
        return is_there(self.live, lane, self.policy)

    def peers_of(self, key: Key, lane: int) -> tuple[Floats, int]:
        """Seconds of the others that ended the phase of `key` in this round, and how many others there are."""
        lanes, seconds = self.finished.get(key, ((), np.empty(0)))
        if lane in lanes:
            seconds = seconds[np.array([each != lane for each in lanes], np.bool_)]
        return seconds, len(self.members.get(key, frozenset()) - {lane})


def is_there(live: Live, lane: int, policy: Policy) -> bool:
    """Whether a worker runs and was heard less than `lost_s` ago."""
    seen = live.seen.get(lane, Seen(heard_ns=0))
    return seen.presence is Presence.RUNNING and live.now_ns - seen.heard_ns < policy.lost_s * 1e9


def build(live: Live, policy: Policy) -> Context:
    """Put every open phase of the round beside its limits."""
    workers = {worker.lane: worker for worker in live.workers}
    finished = _finished(live)
    crews = _members(live, workers, finished)
    context = Context(live=live, policy=policy, workers=workers, judged=(), finished=finished, members=crews)
    known, kinds = ground(live), _kinds(live.opens)
    judged = tuple(
        _judged(context, known, one, kind)
        for one, kind in kinds
        if one.round == live.round
        and one.lane in workers
        and one.lane not in live.cold
        and context.there(one.lane)
        and kind != Kind.WAIT
        and one.name not in RENDEZVOUS
    )
    return replace(context, judged=judged)


def _members(live: Live, workers: Mapping[int, Worker], finished: Finished) -> dict[Key, frozenset[int]]:
    found: dict[Key, set[int]] = {key: set(before.last) for key, before in live.usual.phases.items()}
    for key, (lanes, _) in finished.items():
        found.setdefault(key, set()).update(lanes)
    for one in live.opens:
        if one.lane in workers:
            found.setdefault((one.name, cohort_of(workers[one.lane], one.kind)), set()).add(one.lane)
    return {key: frozenset(lanes) for key, lanes in found.items()}


def key_of(judged: Judged) -> Key:
    """Phase and cohort of an open phase."""
    return (judged.open.name, cohort_of(judged.worker, judged.kind))


def awaited(live: Live, one: Open) -> str:
    """The phase of others that an open one waits for; empty for none."""
    return one.after or live.usual.after.get(one.name, "") or AWAITED.get(one.name, "")


def _judged(context: Context, known: Ground, one: Open, kind: Kind) -> Judged:
    live, worker = context.live, context.workers[one.lane]
    key = (one.name, cohort_of(worker, kind))
    before = live.usual.phases.get(key)
    finished, peers = context.peers_of(key, one.lane)
    work = before.work.get(one.lane, 1.0) if before else 1.0
    time, waits_for = worked(known, one, context.workers, awaited(live, one), repeats=bool(before and before.repeats))
    return Judged(
        open=one,
        worker=worker,
        kind=kind,
        worked=time,
        limits=limits(finished, peers, before, live.usual.round_s, context.policy, work=work),
        waits_for=tuple(context.workers[lane].name for lane in waits_for if lane in context.workers),
    )


def _finished(live: Live) -> dict[Key, tuple[tuple[int, ...], Floats]]:
    """Durations of this round for equal work; who has the phase open once more has not finished it."""
    if not len(live.spans):
        return {}
    window = Window(rounds=(live.round,), end_ns=live.now_ns, round_s=live.usual.round_s, cold=live.cold)
    again = {(one.name, one.lane) for one in live.opens if one.round == live.round}
    found: dict[Key, tuple[tuple[int, ...], Floats]] = {}
    for cohort in cohorts(History(workers=live.workers, windows=(window,), spans=live.spans)):
        key = (cohort.phase, cohort_of(cohort.workers[0], cohort.kind))
        found[key] = _ended(cohort, again)
    return found


def _ended(cohort: Cohort, again: set[tuple[str, int]]) -> tuple[tuple[int, ...], Floats]:
    lanes = [worker.lane for worker in cohort.workers]
    done = np.array([(cohort.phase, lane) not in again for lane in lanes], np.bool_) & (cohort.cost[0] > 0)
    return tuple(lane for lane, one in zip(lanes, done.tolist(), strict=True) if one), cohort.cost[0][done]


def _kinds(opens: Sequence[Open]) -> list[tuple[Open, Kind]]:
    """Each open phase with its kind; what is nested under persist is persist."""
    place = {(one.attempt, one.start): one for one in opens}

    def kind(one: Open) -> Kind:
        around: Open | None = one
        while around is not None and around.kind != Kind.PERSIST:
            parent = place.get((around.attempt, around.parent))
            # Numbers grow: a list that says otherwise must not be followed in circles.
            around = parent if parent is not None and parent.start < around.start else None
        return one.kind if around is None else Kind.PERSIST

    return [(one, kind(one)) for one in opens]
