"""What the trends draw and list: a point for each run, or for each week of runs under the same conditions."""

import datetime as dt
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.runs import facts
from dashboard.runs.words import percent, seconds
from dashboard.teams.names import legible
from ingest.queries.trends import Point

_GIB = 1 << 30
Three = tuple[float | None, float | None, float | None]  # low, the point itself, high


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of runs: `unit` decides how it is told, `about` how it comes about."""

    key: str
    title: str
    unit: str
    about: str
    of: Callable[[Point], Three]
    by_trainers: bool = False

    def words(self, value: float | None) -> str:
        """A value as people read it; a dash where it is not known."""
        return "–" if value is None else _WORDS[self.unit](value)


@dataclass(frozen=True, slots=True)
class Spot:
    """A point: a run or a week. `values` are one for each measure, `group` its conditions, `href` where it leads.

    `worse` says that a finding calls it, or a run of it, worse than the project's runs before.
    """

    name: str
    group: str
    at: dt.datetime
    href: str
    trainers: int
    values: tuple[Three, ...]
    worse: bool
    runs: int = 1


def _memory(point: Point) -> float | None:
    figures = point.figures
    copy, peak = figures.run.model_bytes, figures.memory_peak_bytes
    return peak / copy if peak is not None and copy else None


def _gib(value: float | None) -> float | None:
    return None if value is None else value / _GIB


def _alone(value: float | None) -> Three:
    return None, value, None


MEASURES = (
    Measure("round_s", "Round time", "s", "The median wall time of a round; the whisker spans the 5th to the 95th "
            "percentile of the run's rounds, its warm-up left out.",
            lambda one: (one.figures.round_s_p5, one.figures.round_s, one.figures.round_s_p95)),
    Measure("waiting_share", "GPU waiting", "%", "The share of the round in which a trainer is in no compute phase, "
            "mean over trainers; median over rounds, whisker 5th to 95th percentile.",
            lambda one: (one.figures.waiting_share_p5, one.figures.waiting_share, one.figures.waiting_share_p95)),
    Measure("comm_share", "Exchange between nodes", "%", "The share of the round in which a trainer moves data to "
            "other machines (comm share): healthy below 15 %, alarming above 30 %. Of a run without an analysed round "
            "the waits within transfers are among it. Not known where all workers are on one machine.",
            lambda one: (one.figures.comm_share_p5, one.figures.comm_share, one.figures.comm_share_p95)),
    Measure("encode_s", "Encode p95", "s", "The 95th percentile, over trainers and rounds, of the time that one "
            "spends in phases that encode, decode or prepare.",
            lambda one: _alone(one.figures.encode_s_p95)),
    Measure("memory", "Memory peak", "copies", "The most memory that one worker's process held, in copies of the "
            "model. Not known where the training did not say how large its model is.",
            lambda one: _alone(_memory(one))),
    Measure("memory_trainers", "Memory peak by trainers", "copies", "The same beside the number of trainers: a peak "
            "that grows with them holds everybody's update at once.",
            lambda one: _alone(_memory(one)), by_trainers=True),
    Measure("memory_gib", "Memory peak in bytes", "GiB", "The most memory that one worker's process held.",
            lambda one: _alone(_gib(one.figures.memory_peak_bytes))),
    Measure("findings", "Findings", "", "How many findings the run has, those that are only worth knowing left out.",
            lambda one: _alone(float(one.findings))),
)  # fmt: skip
_WORDS: dict[str, Callable[[float], str]] = {
    "s": seconds,
    "%": percent,
    "copies": lambda value: f"{value:.1f}",
    "GiB": lambda value: facts.value("memory_bytes", str(value * _GIB)).text,
    "": lambda value: f"{value:g}",
}


def of_runs(points: Sequence[Point], href: Callable[[Point], str]) -> list[Spot]:
    """A spot for each run."""
    return [
        Spot(
            name=legible(one.figures.run.name), group=one.figures.group, at=one.figures.run.started_at, href=href(one),
            trainers=one.figures.trainers, values=tuple(measure.of(one) for measure in MEASURES),
            worse=one.worse,
        )
        for one in points
    ]  # fmt: skip


def of_weeks(points: Sequence[Point], href: Callable[[dt.date], str]) -> list[Spot]:
    """A spot for each week (from Monday, UTC) and its conditions: the median of its runs, and their least and most."""
    weeks: dict[tuple[dt.date, str], list[Point]] = {}
    for one in points:
        weeks.setdefault((monday(one.figures.run.started_at), one.figures.group), []).append(one)
    return [_week(day, group, members, href(day)) for (day, group), members in sorted(weeks.items())]


def monday(at: dt.datetime) -> dt.date:
    """The first day of the week in which that is."""
    day = at.astimezone(dt.UTC).date()
    return day - dt.timedelta(days=day.weekday())


def _week(day: dt.date, group: str, members: Sequence[Point], href: str) -> Spot:
    values = []
    for measure in MEASURES:
        known = [value for one in members if (value := measure.of(one)[1]) is not None]
        values.append((min(known), statistics.median(known), max(known)) if known else (None, None, None))
    return Spot(
        name=f"week of {day:%d %b %Y}", group=group, at=dt.datetime.combine(day, dt.time.min, dt.UTC), href=href,
        trainers=members[0].figures.trainers, values=tuple(values), runs=len(members),
        worse=any(one.worse for one in members),
    )  # fmt: skip


def drawn(spots: Sequence[Spot]) -> dict[str, Any]:
    """All that the charts are drawn of; conditions that most spots have come first."""
    counts: dict[str, int] = {}
    for spot in spots:
        counts[spot.group] = counts.get(spot.group, 0) + 1
    groups = sorted(counts, key=lambda name: (-counts[name], name))
    return {
        "groups": groups,
        "spots": [
            {
                "name": one.name, "group": groups.index(one.group), "at": one.at.isoformat(), "href": one.href,
                "trainers": one.trainers, "runs": one.runs, "values": one.values,
                "worse": one.worse,
            }
            for one in spots
        ],
        "measures": [
            {"key": one.key, "unit": one.unit, "title": one.title, "by_trainers": one.by_trainers} for one in MEASURES
        ],
    }  # fmt: skip
