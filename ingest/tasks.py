"""What Celery does, started by name: each task loads, calls what knows, stores and tells."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import nan
from typing import TypeVar
from uuid import UUID

from celery import shared_task
from django.db import InterfaceError, OperationalError, transaction

from ingest.detection import (
    causes,
    imbalance,
    interval_checks,
    regression,
    round_analysis,
    straggler,
    summary,
    training_health,
    utilisation_trap,
    work_on_path,
)
from ingest.detection.facts import History
from ingest.detection.lost_time import lost
from ingest.detection.thresholds import Thresholds
from ingest.detection.verdicts import Judgement, Verdict
from ingest.detection.windows import FILLS_S
from ingest.feed import messages
from ingest.feed.publisher import publish, publish_findings
from ingest.queries import (
    analysing,
    artifacts,
    baselines,
    intervals,
    judging,
    judging_causes,
    judging_memory,
    judging_utilisation,
    judging_windows,
    logged,
    rounds,
    thresholds,
)
from ingest.queries import run_figures as figures_of_runs
from ingest.store import (
    analyses,
    deletion,
    findings,
    live_findings,
    memory_findings,
    run_figures,
    standings,
    summaries,
)
from ingest.store import intervals as asked_intervals
from ingest.store.findings import Changed
from ingest.store.locks import Lock, hold
from ingest.store.summaries import Try

_log = logging.getLogger(__name__)
_Judged = TypeVar("_Judged")
_ANALYSED_OF = 20  # rounds whose intervals are measured anew at once; others when somebody asks for them
_UTILISED_OF = 6  # windows whose devices are looked at: of what went on before, its finding tells


@shared_task(name="ingest.judge_round")
def judge_round(run_id: str, index: int, generation: int) -> None:
    """Sum up a closed round and judge the windows that are due with it; asked for again, it costs one statement."""
    key = UUID(run_id)
    begun = summaries.begin_try(key, index, generation)
    if begun is Try.LAST:
        _log.warning("Round %s of run %s is judged for the last time until more of it is known.", index, run_id)
    if begun in (Try.TOO_MANY, Try.NEEDLESS):
        return
    with transaction.atomic():
        hold(Lock.JUDGING, key)
        judged = judging.closed(key, index, generation)
        if judged is None:
            return
        _sum_up(judged)
        changed = _judge_windows(judged, index) if judged.newest else []
        run_figures.ask(key)
    told = rounds.steps(key, [judged.id])
    publish(key, messages.steps(told.rows, told.newest))
    publish_findings(key, changed)
    _guarded(key, "a round by itself", partial(_analyse, judged))
    for before in judged.before:
        _sum_up_again(key, *before)


def _sum_up(judged: judging.Closed) -> None:
    given = judged.given
    ranks = [worker for worker in given.workers if worker.lane in set(given.trainers.tolist())]
    found = summary.figures(given.spans, given.trainers, given.begin_ns, given.end_ns, ranks, given.index)
    summaries.save(judged.id, found, judged.version)
    standings.note([judged.run.pk])


def _analyse(judged: judging.Closed) -> None:
    """At once where a round is a window by itself; of short ones there may be many, and each waits to be asked for."""
    given = judged.given
    if given.end_ns - given.begin_ns >= FILLS_S * 1e9 and len(given.spans):
        analyses.save(judged.id, judged.version, round_analysis.told(given))


def _sum_up_again(run_id: UUID, index: int, generation: int) -> None:
    """A round that had its verdict when it was not known what its workers did already in the next one."""
    with transaction.atomic():
        hold(Lock.JUDGING, run_id)
        judged = judging.closed(run_id, index, generation, again=True)
        if judged is None:
            return
        _sum_up(judged)
        analyses.forget(judged.id)
    told = rounds.steps(run_id, [judged.id])
    publish(run_id, messages.steps(told.rows, told.newest))
    _guarded(run_id, "a round by itself", partial(_analyse, judged))


def _judge_windows(judged: judging.Closed, index: int) -> Changed:
    """The window of the round by itself, and what lasts as of the newest one: late data may reach back."""
    changed: Changed = []
    run, limits = judged.run, thresholds.of_run(judged.run.pk)
    for one in judging_windows.due(run.pk, index):
        history = judging.history(run.pk, one.reach)
        judgement = _guarded(run.pk, straggler.KIND, partial(straggler.judge, history, limits.straggler))
        if judgement is not None:
            judgement = _guarded(run.pk, "causes", partial(_with_causes, judged, history, judgement)) or judgement
        if one.once and history.windows and judgement is not None:
            window = history.windows[-1].rounds
            summaries.save_sights(one.reach.versions(window), judgement.sights)
            joined, once = live_findings.take_closed(run, window, limits.said(judgement.once))
            changed += joined + findings.put_once(run, straggler.KIND, window[0], once)
        if one.lasting:
            if judgement is not None:
                lasting = limits.said(judgement.lasting)
                changed += findings.put_lasting(run, straggler.KIND, _known_from(history), lasting)
            changed += _judge_lasting(judged, history, limits)
            summaries.save_lasting(one.reach.versions())
    return changed


def _judge_lasting(judged: judging.Closed, history: History, limits: Thresholds) -> Changed:
    """What other rules than that of stragglers say as of the newest window."""
    run = judged.run
    rules: dict[str, Callable[[], Sequence[Verdict]]] = {
        work_on_path.KIND: partial(_work_on_path, judged, history, limits),
        imbalance.KIND: partial(imbalance.judge, history, limits.imbalance),
        training_health.KIND: partial(_training_health, judged, limits),
        interval_checks.KIND: lambda: interval_checks.judge(history, *intervals.looked_at(run, history)),
    }
    changed: Changed = []
    for kind, rule in rules.items():
        verdicts = _guarded(run.pk, kind, rule)
        if verdicts is not None:
            changed += findings.put_lasting(run, kind, _known_from(history), limits.said(verdicts))
    changed += _guarded(run.pk, "memory", partial(_memory, judged, history, limits)) or []
    return changed + (_guarded(run.pk, utilisation_trap.KIND, partial(_utilisation, judged, history, limits)) or [])


def _memory(judged: judging.Closed, history: History, limits: Thresholds) -> Changed:
    held = judging_memory.of_windows(judged.run, history)
    return memory_findings.keep(judged.run, memory_findings.WHILE_IT_RUNS, _known_from(history), held, limits)


def _utilisation(judged: judging.Closed, history: History, limits: Thresholds) -> Changed:
    newest = history.windows[-_UTILISED_OF:]
    busy = judging_utilisation.utilisation(judged.run, history, _UTILISED_OF)
    verdict = None
    if busy is not None:
        readings = utilisation_trap.Readings(utilisation=busy, lost=lost(history, _UTILISED_OF), mfu=busy * nan)
        verdict, _ = utilisation_trap.judge(newest, history.workers, readings, limits.utilisation_trap)
    since = newest[0].rounds[0] if newest else 0
    verdicts = [] if verdict is None else limits.said([verdict])
    return findings.put_lasting(judged.run, utilisation_trap.KIND, since, verdicts)


def _guarded(run_id: UUID, kind: str, rule: Callable[[], _Judged]) -> _Judged | None:
    """What the rule gives. One that fails says nothing, aloud: what the others say of the window counts all the same.

    Raises what a lost database raises, since then nothing can be stored either.
    """
    try:
        with transaction.atomic():
            return rule()
    except (OperationalError, InterfaceError):
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it is a fault of one rule
        _log.exception("The rule for %s failed on run %s.", kind, run_id)
        return None


def _with_causes(judged: judging.Closed, history: History, judgement: Judgement) -> Judgement:
    """The same, with what may explain it where somebody is slow."""

    def explained(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
        return tuple(causes.explained(one, *judging_causes.known(judged.run, history, one)) for one in verdicts)

    return replace(judgement, once=explained(judgement.once), lasting=explained(judgement.lasting))


def _work_on_path(judged: judging.Closed, history: History, limits: Thresholds) -> Sequence[Verdict]:
    if not history.windows:
        return ()
    first, last = _known_from(history), history.windows[-1].rounds[-1]
    return work_on_path.judge(history, artifacts.loaded_later(judged.run, first, last), limits.work_on_path)


def _training_health(judged: judging.Closed, limits: Thresholds) -> Sequence[Verdict]:
    metrics = training_health.DEFAULT.losses | training_health.DEFAULT.norms
    series = logged.newest(judged.run, metrics)
    if not series:
        return ()
    verdict, _ = training_health.judge(
        series, disturbed=logged.disturbances(judged.run.pk, training_health.KIND),
        sampled=logged.reads_infrastructure(judged.run, metrics), policy=limits.training_health,
    )  # fmt: skip
    return () if verdict is None else (verdict,)


def _known_from(history: History) -> int:
    return history.windows[0].rounds[0] if history.windows else 0


@shared_task(name="ingest.judge_memory")
def judge_memory(run_id: str) -> None:
    """Judge what is left of a run's memory after its end, as far as it has been read; the watcher asks again."""
    key = UUID(run_id)
    with transaction.atomic():
        hold(Lock.JUDGING, key)
        judged = judging_memory.after_the_end(key)
        changed = []
        if judged is not None:
            run, held = judged
            changed = memory_findings.keep(run, memory_findings.AFTER_IT_ENDED, 0, held, thresholds.of_run(key))
    publish_findings(key, changed)


@shared_task(name="ingest.analyse_round")
def analyse_round(run_id: str, index: int, generation: int) -> None:
    """Conclude what somebody has asked for of one round; where that is done already it costs two statements."""
    due = analysing.due(UUID(run_id), index, generation)
    if due is not None:
        analyses.save(due.id, due.version, round_analysis.told(due.given))


@shared_task(name="ingest.judge_intervals")
def judge_intervals(run_id: str) -> None:
    """Judge a run's intervals anew, as they are asked for now; the watcher asks again until that is done.

    Asked for again, it costs one statement.
    """
    key = UUID(run_id)
    if asked_intervals.is_due(key) is None:
        return
    with transaction.atomic():
        hold(Lock.JUDGING, key)
        since = asked_intervals.is_due(key)
        if since is None:  # whoever held the lock has judged them
            return
        judged = judging_windows.whole(key)
        changed: Changed = []
        verdicts: Sequence[Verdict] | None = ()
        if judged is not None:
            run, reach = judged
            history = judging.history(key, reach)
            verdicts = _guarded(
                key, interval_checks.KIND, lambda: interval_checks.judge(history, *intervals.looked_at(run, history))
            )
            if verdicts is not None:
                # What somebody asks for today of a run that ended long ago is shown, and nobody is woken by it.
                quiet = run.ended_at is not None
                changed = findings.put_lasting(run, interval_checks.KIND, _known_from(history), verdicts, quiet=quiet)
            asked = {(one.name, one.identity) for one in intervals.asked(run).intervals}
            changed += asked_intervals.withdraw_others(run, interval_checks.KIND, asked)
    publish_findings(key, changed)
    if judged is not None:
        _analyse_newest_again(key)
    (asked_intervals.put_off if verdicts is None else asked_intervals.judged)(key, since)
    asked_intervals.ask_again_if_due(key)


def _analyse_newest_again(run_id: UUID) -> None:
    """The newest rounds that had been analysed, as they are asked for now; whoever looks at one asks for it again."""
    known = analysing.newest_analysed(run_id, _ANALYSED_OF)
    for row in known:
        _guarded(run_id, "a round by itself", partial(analyse_round, str(run_id), row.index, row.generation))
    told = rounds.steps(run_id, [row.pk for row in known])
    publish(run_id, messages.steps(told.rows, told.newest))


@shared_task(name="ingest.sum_up_run")
def sum_up_run(run_id: str) -> None:
    """Bring the figures of a run up to its rounds, and judge it beside earlier runs; the watcher asks again.

    Asked for where nothing is new, or while another does it, it costs one statement.
    """
    key = UUID(run_id)
    claimed = run_figures.claim(key)
    summed = None if claimed is None else figures_of_runs.of(key)
    if claimed is None or summed is None:
        return
    run, row = summed
    changed: Changed = []
    with transaction.atomic():
        hold(Lock.JUDGING, key)
        run_figures.save(row)
        standings.note([key])
        limits = thresholds.of_run(key)
        compared = baselines.compared(key)
        verdicts = None
        if compared is not None:
            verdicts = _guarded(key, regression.KIND, partial(regression.judge, compared, limits.regression))
        if verdicts is not None:
            quiet = baselines.is_old(run)
            changed = findings.put_lasting(run, regression.KIND, 0, limits.said(verdicts), quiet=quiet)
    publish_findings(key, changed)
    run_figures.done(key, claimed)


@shared_task(name="ingest.delete_run")
def delete_run(run_id: str) -> None:
    """Go on with a deletion that has begun; the watcher asks again until nothing is left."""
    if deletion.mark(UUID(run_id)):
        deletion.go_on(UUID(run_id))
