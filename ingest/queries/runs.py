"""Runs and their workers, as scripts read them."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum

from ingest.models import Round, Run, Worker
from ingest.queries.pages import Page, Place, page

_AFTERWARDS = dt.timedelta(minutes=5)  # for so long after it was last heard of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """A run with how far it has come; `rounds_done` counts from its first known round to the last closed one."""

    id: UUID
    key: str
    project: str
    name: str
    state: str
    tags: list[str]
    notes: str
    config: dict[str, Any]
    conditions: dict[str, Any]
    rounds_done: int
    rounds_planned: int | None
    started_at: dt.datetime
    ended_at: dt.datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs; None asks nothing. Started in [begin, end)."""

    project: str | None = None
    state: str | None = None
    begin: dt.datetime | None = None
    end: dt.datetime | None = None


def listed(teams: Collection[UUID], wanted: Wanted, *, after: Place | None, limit: int) -> Page[RunFigures]:
    """The runs of these teams, newest first."""
    rows = _with_rounds(Run.objects.filter(team__in=teams))
    for name, value in (
        ("project", wanted.project), ("state", wanted.state), ("started_at__gte", wanted.begin),
        ("started_at__lt", wanted.end),
    ):  # fmt: skip
        if value is not None:
            rows = rows.filter(**{name: value})
    if after is not None:
        started_at, key = after
        rows = rows.filter(Q(started_at__lt=started_at) | Q(started_at=started_at, pk__gt=key))
    found = list(rows.order_by("-started_at", "pk")[: limit + 1])
    return page(found, limit, figures, lambda run: (run.started_at, run.pk))


def one(teams: Collection[UUID], run_id: UUID) -> Run | None:
    """The run, if it is one of these teams', with what `figures` needs."""
    return _with_rounds(Run.objects.filter(team__in=teams, pk=run_id)).first()


def figures(run: Run) -> RunFigures:
    """What is told of a run that `one` or `listed` fetched."""
    first, last = getattr(run, "first_round", None), getattr(run, "last_round", None)
    return RunFigures(
        id=run.pk, key=run.key, project=run.project, name=run.name, state=run.state, tags=run.tags, notes=run.notes,
        config=run.config, conditions=run.conditions, rounds_planned=run.rounds_planned, started_at=run.started_at,
        rounds_done=0 if first is None or last is None else last - first + 1, ended_at=run.ended_at,
    )  # fmt: skip


def workers(run: Run, *, after: Place | None, limit: int) -> Page[Worker]:
    """The run's workers in order of arrival."""
    rows = Worker.objects.filter(run=run, index__gt=after[0] if after else -1).order_by("index")
    return page(list(rows[: limit + 1]), limit, lambda worker: worker, lambda worker: (worker.index,))


def _with_rounds(runs: QuerySet[Run]) -> QuerySet[Run]:
    closed = Round.objects.filter(run=OuterRef("pk"), closed=True)
    return runs.annotate(
        first_round=Subquery(closed.order_by("index").values("index")[:1]),
        last_round=Subquery(closed.order_by("-index").values("index")[:1]),
    )


def told_after_the_end(now: dt.datetime) -> dict[UUID, int]:
    """Runs that have ended and were heard lately, with how many records of them are stored."""
    rows = Run.objects.filter(ended_at__isnull=False, model_bytes__isnull=False, heard_at__gte=now - _AFTERWARDS)
    return dict(rows.annotate(told=Sum("streams__stored_count")).values_list("pk", "told"))
