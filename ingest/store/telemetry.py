"""The transaction of ingest: what is new of several requests becomes rows, once; what was there stays as it is."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from ingest import partitions
from ingest.store import (
    asks,
    catalogue,
    crews,
    generations,
    parts,
    ranges,
    runs,
    standings,
    states,
    stream_rows,
    streams,
)
from ingest.store.arrivals import Fault, Job, Refused
from ingest.store.asks import Ask
from ingest.store.intake import Intake
from ingest.store.news import Bulletin
from ingest.store.resolve import Resolved, resolve
from roundwatch import wire

_MOST_HOLES = 100  # that are named in an answer
_MOST_RANGES = 10_000  # of numbers in one stream; no honest shipper comes near


@dataclass(slots=True)
class Outcome:
    """What became of one request: a result for each batch and what is asked in return, or why it was refused."""

    results: list[wire.Result] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Outcomes in the order of the jobs, and the news for viewers."""

    outcomes: list[Outcome]
    news: Bulletin


class VanishedError(DatabaseError):
    """A stream that was there is not there any more."""


def write(jobs: Sequence[Job]) -> Written:
    """Store several requests in one transaction; when it returns, they are committed on disk.

    Raises django.db.Error, and stores nothing, when the database refuses: one record of one job, or altogether.
    """
    try:
        return _write(jobs)
    except (IntegrityError, VanishedError):
        # What this process remembers is no longer so: a day's partition was dropped, a database restored.
        partitions.forget()
        streams.forget()
        catalogue.forget()
        crews.forget()
        generations.forget()
        return _write(jobs)


def _write(jobs: Sequence[Job]) -> Written:
    outcomes = [Outcome([_refused(each) for each in job.refused]) for job in jobs]
    resolved: list[tuple[Outcome, Resolved]] = []
    for outcome, (found, refused) in zip(outcomes, resolve(jobs), strict=True):
        outcome.results += map(_refused, refused)
        resolved += [(outcome, each) for each in found]
    now = timezone.now().astimezone(dt.UTC)
    partitions.ready(now.date())
    intake, news = _store(resolved, now)
    generations.remember(intake.parts.places)
    return Written(outcomes, news)


@transaction.atomic
def _store(resolved: Sequence[tuple[Outcome, Resolved]], now: dt.datetime) -> tuple[Intake, Bulletin]:
    rows = stream_rows.lock({each.stream.id for _, each in resolved})
    intake = Intake(now)
    for outcome, each in resolved:
        row = rows.get(each.stream.id)
        if row is None:
            raise VanishedError
        outcome.results.append(result := _taken(intake, each, row))
        if result.status == "stored":
            outcome.asks += asks.due(result.stream, row.asked)
            row.asked = None
    intake.save()
    # Statements whose results nobody waits for travel together: each answer that a thread waits for costs its turn.
    with connection.wrap_database_errors, connection.connection.pipeline():
        touched = parts.save(intake.parts)
        stream_rows.save(list(intake.rows.values()))
        changes = states.hear(intake.lives.heard, now)
        turned = {change.run_id for change in changes}
        changed = _update_runs(intake, turned, now)
    changed |= _begin_runs(intake)
    return intake, intake.bulletin(touched, changes, changed)


def _taken(intake: Intake, batch: Resolved, row: stream_rows.StreamRow) -> wire.Result:
    """Take a batch in, where its stream still takes any."""
    stream = batch.arrival.stream.hex
    if row.deleted:
        return wire.Result(stream=stream, status="deleted")
    if len(row.numbers) > _MOST_RANGES:
        return _refused(Refused(stream, "The stream has too many holes."))
    rejected = intake.take(batch, row)
    missing = ranges.holes(row.numbers, _MOST_HOLES)
    return wire.Result(stream=stream, status="stored", missing=missing, rejected=rejected)


def _refused(batch: Refused) -> wire.Result:
    return wire.Result(stream=batch.stream, status="refused", reason=batch.reason)


def _update_runs(intake: Intake, turned: Collection[UUID], now: dt.datetime) -> set[UUID]:
    """Bring the runs' rows up to date, all locked first and in order; returns those that changed to the eye."""
    due = runs.due(intake.runs(), now)
    runs.lock({*turned, *due, *intake.lives.begun})
    runs.heard(due, now)
    return set(states.refresh_runs(turned))


def _begin_runs(intake: Intake) -> set[UUID]:
    """Take over what attempts said at their begin, on rows that are locked; returns the runs that it changed."""
    begun = intake.lives.begun
    runs.keep_conditions({stream: word for words in begun.values() for stream, word in words.items()})
    standings.note(begun, crew=True)
    return {run_id for run_id, words in begun.items() if runs.begun(run_id, list(words.values()))}
