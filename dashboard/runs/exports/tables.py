"""The tables of a run that are exported: phases, rounds and samples, with the figures and times of REST."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dashboard.runs.api.shapes import seconds_between
from ingest.models import Round, Run
from ingest.queries import exported, phases, samples
from ingest.queries.pages import Page, Place
from roundwatch.wire import KINDS


class Kind(Enum):
    """What stands in a column; times are Unix microseconds, JSON is a dict."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"
    JSON = "json"


Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's columns in order, and how a page of its rows is read."""

    name: str
    columns: dict[str, Kind]
    read: Callable[[Run, Place | None, int], Page[Row]]


def _phases(run: Run, after: Place | None, limit: int) -> Page[Row]:
    found = phases.listed(run, phases.Wanted(), after=after, limit=limit)
    return Page([_phase(one) for one in found.items], found.next)


def _phase(one: phases.PhaseFigures) -> Row:
    return (
        one.worker, one.round, one.name, one.kind, one.begin_ns // 1000, one.end_ns // 1000,
        seconds_between(one.begin_ns, one.end_ns), one.state, one.attrs,
    )  # fmt: skip


def _rounds(run: Run, after: Place | None, limit: int) -> Page[Row]:
    found = exported.rounds(run, after=after, limit=limit)
    return Page([_round(one) for one in found.items], found.next)


def _round(row: Round) -> Row:
    ended_ns = row.end_ns if row.closed else None
    return (
        row.index, row.generation, row.begin_ns // 1000, None if ended_ns is None else ended_ns // 1000,
        None if ended_ns is None else seconds_between(row.begin_ns, ended_ns), row.closed, row.trainers, row.coverage,
        row.gpu_waiting_share, row.kind_seconds and dict(zip(KINDS, row.kind_seconds, strict=True)),
    )  # fmt: skip


def _samples(run: Run, after: Place | None, limit: int) -> Page[Row]:
    found = samples.by_series(run, after=after, limit=limit)
    return Page([_sample(one) for one in found.items], found.next)


def _sample(one: samples.SampleFigures) -> Row:
    return (one.worker or None, one.machine, one.device, one.metric, one.unit, one.time_ns // 1000, one.value)


TABLES = (
    Table(
        "phases",
        {
            "worker": Kind.TEXT, "round": Kind.INTEGER, "name": Kind.TEXT, "kind": Kind.TEXT, "start": Kind.TIME,
            "end": Kind.TIME, "seconds": Kind.NUMBER, "state": Kind.TEXT, "attrs": Kind.JSON,
        },
        _phases,
    ),
    Table(
        "rounds",
        {
            "index": Kind.INTEGER, "generation": Kind.INTEGER, "start": Kind.TIME, "end": Kind.TIME,
            "wall_s": Kind.NUMBER, "closed": Kind.FLAG, "trainers": Kind.INTEGER, "coverage": Kind.NUMBER,
            "gpu_waiting_share": Kind.NUMBER, "kind_seconds": Kind.JSON,
        },
        _rounds,
    ),
    Table(
        "samples",
        {
            "worker": Kind.TEXT, "machine": Kind.TEXT, "device": Kind.TEXT, "metric": Kind.TEXT, "unit": Kind.TEXT,
            "time": Kind.TIME, "value": Kind.NUMBER,
        },
        _samples,
    ),
)  # fmt: skip
