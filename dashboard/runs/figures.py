"""The key figures of a run, each with its definition, what it is a share of, and of how many rounds it speaks."""

from dataclasses import dataclass
from datetime import datetime
from statistics import median

import numpy as np
import numpy.typing as npt

from dashboard.runs import facts
from dashboard.runs.words import duration, percent, seconds
from ingest.detection.communication import DEFAULT as BANDS
from ingest.models import Run
from ingest.queries.run_list import MUCH_WAITING
from ingest.queries.run_rounds import Communication, Rounds
from ingest.queries.run_work import Peak

_NBSP = "\N{NO-BREAK SPACE}"
_MOST_COPIES = 50  # beyond that many a model is too small for its copies to tell anything, as on the live page


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in words; `tone` is "warn" where it needs a look."""

    label: str
    value: str
    detail: str
    definition: str
    tone: str = ""


def figures(
    run: Run, now: datetime, rounds: Rounds, communication: Communication, gpu_hours: float | None,
    peak: Peak | None,
) -> list[Figure]:  # fmt: skip
    """All of them, in the order in which they are shown; those of rounds are of `rounds.measured`."""
    of = rounds.measured
    return [
        _done(run, rounds), _duration(run, now), *_times(of), _waiting(of), *_communication(communication),
        _coverage(of), _throughput(of), _gpu_hours(run, gpu_hours), _memory(run, peak),
    ]  # fmt: skip


def _done(run: Run, rounds: Rounds) -> Figure:
    done = int(rounds.index[-1]) + 1 if len(rounds.index) else 0
    planned = f"of {run.rounds_planned:,}" if run.rounds_planned else ""
    return Figure(
        "Rounds", f"{done:,}", planned or "done",
        "The number of the newest closed round, counted from 1, of those that the run planned.",
    )  # fmt: skip


def _duration(run: Run, now: datetime) -> Figure:
    return Figure(
        "Duration", duration((run.ended_at or now) - run.started_at), "" if run.ended_at else "so far",
        "From the first record of any worker to the end of the last, or to now.",
    )  # fmt: skip


def _times(rounds: Rounds) -> list[Figure]:
    wall, of = rounds.wall_s, _of(len(rounds.index), rounds)
    middle, late = (seconds(float(np.percentile(wall, share))) if len(wall) else "–" for share in (50, 95))
    what = "From a round's begin on its first worker to its end on its last"
    return [
        Figure("Round time, median", middle, of, f"{what}: half of the rounds took no longer. {_speaks(rounds)}"),
        Figure("Round time, p95", late, of, f"{what}: of twenty rounds nineteen took no longer. {_speaks(rounds)}"),
    ]


def _waiting(rounds: Rounds) -> Figure:
    middle, known = _median(rounds.waiting)
    return Figure(
        "GPU waiting", percent(middle), _of(known, rounds),
        "The part of a round in which a trainer is in no compute phase: wall time less the union of its compute "
        f"phases, over the wall time. The mean over trainers, then the median of the {known:,} rounds of which it is "
        "known.", "warn" if middle is not None and middle >= MUCH_WAITING else "",
    )  # fmt: skip


def _communication(found: Communication) -> list[Figure]:
    bands = f"Below {percent(BANDS.healthy)} is healthy, above {percent(BANDS.alarming)} a strong signal against it."
    comm, exposed = (median(shares) if shares else None for shares in (found.comm, found.exposed))
    why = f" Not known here: {found.abstained}." if comm is None and found.abstained else ""
    newest = "the newest rounds that were analysed"
    return [
        Figure(
            "Comm share", percent(comm), _analysed(len(found.comm), found.abstained),
            "Time of transfers between machines, without what they waited, over the wall time: the mean over trainers, "
            f"then the median of {len(found.comm)} of {newest}. {bands}{why}", _band(comm),
        ),
        Figure(
            "Exposed share", percent(exposed), _analysed(len(found.exposed), found.abstained),
            "The part of those transfers during which the trainer computes nothing, over the wall time: the mean over "
            f"trainers, then the median of {len(found.exposed)} of {newest}. {bands}{why}", _band(exposed),
        ),
    ]  # fmt: skip


def _coverage(rounds: Rounds) -> Figure:
    middle, known = _median(rounds.coverage)
    return Figure(
        "Coverage", percent(middle), _of(known, rounds),
        "The part of a round that recorded phases explain, waits included: the union of a trainer's phases over the "
        f"wall time. The mean over trainers, then the median of the {known:,} rounds of which it is known.",
    )  # fmt: skip


def _throughput(rounds: Rounds) -> Figure:
    known = ~np.isnan(rounds.items) & (rounds.wall_s > 0)
    wall = float(rounds.wall_s[known].sum())
    return Figure(
        "Throughput", _rate(float(rounds.items[known].sum()) / wall) if wall else "–",
        _of(int(known.sum()), rounds) if wall else "no phase counts items",
        "Training samples or tokens that phases carried (items), over all workers, over the wall time of the "
        f"{int(known.sum()):,} rounds of which they are known.",
    )  # fmt: skip


def _gpu_hours(run: Run, found: float | None) -> Figure:
    return Figure(
        "GPU-hours", "–" if found is None else _hours(found),
        "no device known" if found is None else f"{run.trainers:,} trainer{'s' if run.trainers != 1 else ''}",
        "The run's duration times its trainers, each of which uses one device of its host; of runs whose hosts told "
        "what devices they have.",
    )  # fmt: skip


def _memory(run: Run, peak: Peak | None) -> Figure:
    definition = (
        "The highest reading of anonymous and shared memory of the process, over the coordinator, or over the first "
        "trainers where there is none. A peak between two readings may be higher. A model copy is the model's size as "
        "the run gave it."
    )
    if peak is None:
        return Figure("Memory, peak", "–", "no readings kept", definition)
    copies = peak.nbytes / run.model_bytes if run.model_bytes else None
    told = f" Read over the last {seconds(peak.span_s)} of readings."
    shown = facts.value("peak_bytes", str(peak.nbytes)).text
    if copies is None or copies > _MOST_COPIES:
        return Figure(f"{peak.role.capitalize()} memory, peak", f"≥ {shown}", "", definition + told)
    return Figure(f"{peak.role.capitalize()} memory, peak", f"≥ {copies:.1f} copies", f"{shown}", definition + told)


def _median(values: npt.NDArray[np.float64]) -> tuple[float | None, int]:
    known = values[~np.isnan(values)]
    return (float(np.median(known)) if len(known) else None), len(known)


def _rate(a_second: float) -> str:
    return f"{a_second:,.{0 if a_second >= 100 else 1 if a_second >= 10 else 2}f}{_NBSP}/s"


def _hours(found: float) -> str:
    return f"{found:,.{0 if found >= 100 else 1 if found >= 1 else 3}f}{_NBSP}h"


def _of(known: int, rounds: Rounds) -> str:
    if not len(rounds.index):
        return "no round has closed yet"
    return f"{_rounds(known)}{', the newest' if rounds.cut else ''}" if known else "not known"


def _speaks(rounds: Rounds) -> str:
    return f"Of the {'newest ' if rounds.cut else ''}{len(rounds.index):,} closed rounds{_without(rounds)}."


def _without(rounds: Rounds) -> str:
    return ", warm-up left out" if rounds.warm.all() else ", of which all are warm-up"


def _rounds(count: int) -> str:
    return f"{count:,} round{'s' if count != 1 else ''}"


def _analysed(count: int, why_not: str) -> str:
    return f"{_rounds(count)} analysed" if count else why_not or "not known"


def _band(share: float | None) -> str:
    return "warn" if share is not None and share > BANDS.alarming else ""
