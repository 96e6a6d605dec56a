"""Fresh records as rows of the partitioned tables, gathered over a transaction and copied at its end."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db import connection

from ingest.feed.events import Events
from ingest.feed.messages import Spans
from ingest.store import copying
from ingest.store.arrivals import Arrival, EventRows, Ints, PhaseRows, SampleRows
from ingest.store.copying import Column, big, date, double, integer, pack, small, uuid
from ingest.store.news import Readings
from ingest.store.resolve import Resolved


@dataclass(slots=True)
class Tables:
    """Packed rows of one transaction; `day` is the partition they go to."""

    day: dt.date
    packed: dict[str, list[bytes]] = field(default_factory=dict)
    columns: dict[str, list[str]] = field(default_factory=dict)

    def copy(self) -> None:
        """Copy everything, within the caller's transaction."""
        with connection.cursor() as cursor:
            for table, packed in self.packed.items():
                copying.copy(cursor, table, self.columns[table], packed)

    def add_phases(self, rows: PhaseRows, resolved: Resolved) -> Spans:
        """Add ended phases; returns them as the feed shows them."""
        arrival, stream = resolved.arrival, resolved.stream
        workers = np.array([stream.worker_id, *(ref.id if ref else 0 for ref in resolved.workers)], np.int64)
        lanes = np.array([stream.lane, *(ref.lane if ref else 0 for ref in resolved.workers)], np.int64)
        names, speaker = resolved.names[rows.name], rows.worker + 1
        for explicit in (False, True) if rows.explicit.any() else (False,):
            place = rows.explicit == explicit
            part = rows.take(place)
            if len(part):
                columns = _phase_columns(part, arrival, explicit=explicit)
                columns += [big("worker_id", workers[speaker[place]]), integer("name_index", names[place])]
                self._add("ingest_phase", resolved, columns, part.number, _texts(part.attrs, arrival))
        return Spans(
            rows.begin_ns, rows.end_ns, rows.start, rows.parent, rows.round, lanes[speaker],
            np.full(len(rows), stream.attempt), names, rows.state, rows.thread,
        )  # fmt: skip

    def add_events(self, rows: EventRows, resolved: Resolved) -> Events:
        """Add events; returns them as the feed shows them."""
        arrival, stream = resolved.arrival, resolved.stream
        names = resolved.names[rows.name]
        columns = [
            big("worker_id", stream.worker_id),
            big("time_ns", rows.time_ns),
            big("offset_ns", arrival.offset_ns),
            big("error_ns", arrival.error_ns),
            integer("round", rows.round),
            integer("thread", rows.thread),
            integer("name_index", names),
        ]
        self._add("ingest_event", resolved, columns, rows.number, _texts(rows.attrs, arrival))
        lane, attempt = np.full(len(rows), stream.lane), np.full(len(rows), stream.attempt)
        return Events(rows.time_ns, rows.number, rows.round, lane, attempt, names, rows.thread)

    def add_samples(self, rows: SampleRows, resolved: Resolved) -> Readings:
        """Add readings; returns them as the feed shows them."""
        series = resolved.series[rows.series] if len(rows) else rows.series
        if len(rows):
            columns = [
                big("series_id", series),
                big("time_ns", rows.time_ns),
                double("value", rows.value),
                integer("round", rows.round),
            ]
            self._add("ingest_sample", resolved, columns, rows.number, None)
        return Readings(series, rows.time_ns, rows.value)

    def _add(
        self,
        table: str,
        resolved: Resolved,
        columns: Sequence[Column],
        number: Ints,
        json: Sequence[bytes | None] | None,
    ) -> None:
        stream = resolved.stream
        whole = [date("arrived", self.day), big("stream_id", stream.id), big("number", number), *columns]
        if stream.run_id is not None and table != "ingest_sample":
            whole.append(uuid("run_id", stream.run_id))
        self.columns[table] = [column.name for column in whole] + (["attrs"] if json is not None else [])
        self.packed.setdefault(table, []).append(pack(len(number), whole, json))


def _phase_columns(rows: PhaseRows, arrival: Arrival, *, explicit: bool) -> list[Column]:
    return [
        big("start_number", rows.start),
        big("parent", rows.parent),
        big("begin_ns", rows.begin_ns),
        big("end_ns", rows.end_ns),
        big("offset_ns", 0 if explicit else arrival.offset_ns),
        big("error_ns", None if explicit else arrival.error_ns),
        integer("round", rows.round),
        integer("thread", rows.thread),
        small("kind", rows.kind),
        small("state", rows.state),
    ]


def _texts(attrs: Ints, arrival: Arrival) -> list[bytes | None]:
    if not len(attrs) or attrs.max() < 0:
        return [None] * len(attrs)
    return [None if index < 0 else arrival.attrs[index] for index in attrs.tolist()]
