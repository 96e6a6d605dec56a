"""A run on stage for the tests of the live view: stored as ingest would store it, published as ingest would publish."""

import datetime as dt
import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection
from django.utils import timezone

from dashboard.teams.models import Team
from ingest.feed import messages, publisher
from ingest.models import PhaseName, Round, Run, Series, Stream, Worker
from roundwatch.wire import KIND_NUMBER, kind_of

SECOND = 10**9


@dataclass
class Part:
    """One worker of the run and its stream."""

    worker: Worker
    stream: Stream
    next_number: int = 0


@dataclass
class Stage:
    """Tells a run span by span. `store` writes to Postgres alone, `publish` to the feed alone, `happen` does both."""

    team: Team
    run: Run = field(init=False)
    parts: list[Part] = field(default_factory=list)
    names: dict[str, PhaseName] = field(default_factory=dict)
    begin_ns: int = 0

    def __post_init__(self) -> None:
        now = timezone.now()
        self.begin_ns = messages.unix_ns(now - dt.timedelta(minutes=2)) or 0
        self.run = Run.objects.create(
            team=self.team, project="digits", key=uuid.uuid4().hex, name="a run", heard_at=now,
            started_at=now - dt.timedelta(minutes=2), first_day=now.date(), last_day=now.date(), rounds_planned=20,
        )  # fmt: skip

    def worker(self, name: str, *, role: str = "trainer", machine: str = "machine-1") -> Part:
        now = timezone.now()
        index = len(self.parts)
        worker = Worker.objects.create(
            run=self.run, index=index, name=name, role=role, machine=machine, host=machine, last_seen=now
        )
        stream = Stream.objects.create(
            team=self.team, uid=uuid.uuid4(), worker=worker, run=self.run, index=index, machine=machine, began_at=now,
            heard_at=now,
        )  # fmt: skip
        self.parts.append(Part(worker, stream))
        return self.parts[-1]

    def name(self, text: str) -> PhaseName:
        if text not in self.names:
            self.names[text] = PhaseName.objects.create(
                run=self.run, index=len(self.names), name=text, kind=KIND_NUMBER[kind_of(text)]
            )
        return self.names[text]

    def spans(self, part: Part, count: int, *, name: str = "train", round: int = 0) -> messages.Spans:  # noqa: A002
        """The next `count` phases of a worker, each 100 ms long and each with a start's and an end's number."""
        starts = part.next_number + 2 * np.arange(count, dtype=np.int64)
        part.next_number += 2 * count
        begins = self.begin_ns + starts * SECOND // 20
        same = np.ones(count, np.int64)
        return messages.Spans(
            begin_ns=begins, end_ns=begins + SECOND // 10, start_number=starts, parent=-same, round=same * round,
            lane=same * part.worker.index, attempt=same * part.stream.index, phase=same * self.name(name).index,
            state=same * 0, thread=same * 0,
        )  # fmt: skip

    def store(self, part: Part, spans: messages.Spans) -> None:
        with connection.cursor() as cursor:
            with cursor.copy(
                """COPY ingest_phase (run_id, worker_id, stream_id, number, start_number, parent, begin_ns, end_ns,
                   offset_ns, arrived, round, name_index, thread, kind, state) FROM STDIN"""
            ) as copy:
                kinds = {name.index: name.kind for name in self.names.values()}
                for place in range(spans.begin_ns.size):
                    start = int(spans.start_number[place])
                    copy.write_row(
                        (self.run.pk, part.worker.pk, part.stream.pk, start + 1, start, -1, int(spans.begin_ns[place]),
                         int(spans.end_ns[place]), 0, timezone.now().date(), int(spans.round[place]),
                         int(spans.phase[place]), 0, kinds[int(spans.phase[place])], int(spans.state[place]))
                    )  # fmt: skip
            first, last = int(spans.start_number[0]), int(spans.start_number[-1]) + 1
            cursor.execute(
                """UPDATE ingest_stream SET numbers = numbers + int8multirange(int8range(%s, %s)), opens_number = %s,
                   highest = %s, heard_at = now(), stored_count = stored_count + %s WHERE id = %s""",
                [first, last + 1, last, last, last - first + 1, part.stream.pk],
            )

    def publish(self, part: Part, spans: messages.Spans) -> bool:
        numbers = {part.stream.pk: [[int(spans.start_number[0]), int(spans.start_number[-1]) + 1]]}
        return publisher.publish(self.run.pk, messages.spans(spans), numbers)

    def happen(self, part: Part, count: int, **how: Any) -> messages.Spans:
        spans = self.spans(part, count, **how)
        self.store(part, spans)
        self.publish(part, spans)
        return spans

    def opened(self, part: Part, name: str, *, round: int = 0) -> int:  # noqa: A002
        """A phase begins and stays open; returns its start number."""
        start, part.next_number = part.next_number, part.next_number + 1
        named = self.name(name)
        listed = {
            "start": start, "begin_ns": self.begin_ns + start * SECOND // 20, "name": name, "kind": named.kind,
            "round": round, "thread": 0, "parent": -1, "progress": None,
        }  # fmt: skip
        Stream.objects.filter(pk=part.stream.pk).update(opens=[listed], opens_number=start, heard_at=timezone.now())
        return start

    def round(self, index: int, **fields: Any) -> Round:
        begin = self.begin_ns + index * 10 * SECOND
        return Round.objects.create(run=self.run, index=index, begin_ns=begin, trainers=len(self.parts), **fields)

    def samples(self, part: Part, metric: str, values: list[float]) -> Series:
        """Readings of the worker, one each second."""
        series, _ = Series.objects.get_or_create(stream=part.stream, worker=part.worker, metric=metric, unit="B")
        with connection.cursor() as cursor:
            for value in values:
                number, part.next_number = part.next_number, part.next_number + 1
                cursor.execute(
                    """INSERT INTO ingest_sample (series_id, stream_id, number, time_ns, value, arrived, round)
                       VALUES (%s, %s, %s, %s, %s, %s, -1)""",
                    [series.pk, part.stream.pk, number, self.begin_ns + number * SECOND, value, timezone.now().date()],
                )
                cursor.execute(
                    "UPDATE ingest_stream SET numbers = numbers + int8multirange(int8range(%s, %s)) WHERE id = %s",
                    [number, number + 1, part.stream.pk],
                )
        return series
