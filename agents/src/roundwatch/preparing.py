"""Which records go into the next request, and what its answer means for the streams."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from roundwatch import wire
from roundwatch.batches import Builder
from roundwatch.clock import Clock
from roundwatch.journal import KEPT
from roundwatch.slots import Record
from roundwatch.spool import Spool
from roundwatch.streams import Stream

logger = logging.getLogger("roundwatch")
MAX_RECORDS = 4_000
MAX_TEXT_BYTES = 2 << 20
FROM_DISK = KEPT  # streams a request reads from disk for: with more, each would be read anew for the next
HEARTBEAT_NS = 850_000_000  # at least once a second, with a margin for the way
Progress = Callable[[str, Record], "float | None"]


@dataclass(slots=True)
class Prepared:
    """A request to send, with the records of each batch, and the time at which it left."""

    request: wire.Request
    records: list[list[Record]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many records it carries."""
        return sum(map(len, self.records))


class Preparer:
    """Makes requests out of what waits in a spool. `limit` is the most records a request may carry now."""

    def __init__(self, spool: Spool, clock: Clock, machine: str, boot: str, progress: Progress) -> None:
        self._spool, self._clock, self._progress = spool, clock, progress
        self._machine, self._boot = machine, boot
        self.limit = MAX_RECORDS
        self.refused = 0
        self.stored_records = 0

    def hello(self) -> Prepared:
        """A request without batches: it learns the clock before anything is mapped with it."""
        return Prepared(self._request())

    def next(self) -> Prepared | None:
        """The newest records of all streams, and a heartbeat of each that lives and was not heard; None for nothing."""
        with self._spool.lock:
            prepared = Prepared(self._request())
            room, text = self.limit, MAX_TEXT_BYTES
            mapped = self._clock.offset(time.monotonic_ns(), time.time_ns())
            for stream, share in self._shares():
                records = stream.take(min(share, room), text) if share > 0 and room > 0 and text > 0 else []
                room -= len(records)
                text -= sum([len(record.text) for record in records])
                # What the server cannot take is searched for by halving: heartbeats would hide it.
                if records or (self._due(stream) and self.limit == MAX_RECORDS):
                    prepared.records.append(records)
                    prepared.request.batches.append(self._batch(stream, records, mapped))
            return prepared if prepared.request.batches else None

    def stored(self, prepared: Prepared, answer: wire.Answer) -> None:
        """Takes the server's word for each stream: what it says is stored is on its disk."""
        stored = {result.stream for result in answer.results if result.status == "stored"}
        with self._spool.lock:
            for batch in prepared.request.batches:
                stream = self._spool.streams.get(batch.stream)
                if stream is not None and batch.count and batch.stream in stored:
                    stream.acknowledge(batch.first, batch.first + batch.count - 1)
                    self.stored_records += batch.count
            for result in answer.results:
                self._hear(result)
            self.limit = min(MAX_RECORDS, self.limit * 2)

    def behind(self, prepared: Prepared) -> bool:
        """Whether older records wait than those just sent, or as many as a request holds."""
        if prepared.count >= self.limit // 2:
            return True
        with self._spool.lock:
            for batch in prepared.request.batches:
                stream = self._spool.streams.get(batch.stream)
                first = next(iter(stream.pending), None) if stream is not None else None
                if first is not None and first[0] < batch.first:
                    return True
        return False

    def too_large(self, prepared: Prepared) -> bool:
        """The server could not take the request: the next carries half; a single record is set aside.

        False for a request without records, of which nothing can be left out.
        """
        if not prepared.count:
            return False
        if prepared.count > 1:
            self.limit = max(1, prepared.count // 2)
            return True
        with self._spool.lock:
            for batch, records in zip(prepared.request.batches, prepared.records, strict=True):
                stream = self._spool.streams.get(batch.stream)
                if stream is not None and records:
                    self._set_aside(stream, records[0])
        self.limit = MAX_RECORDS
        return True

    def _request(self) -> wire.Request:
        return wire.Request(t1_ns=time.monotonic_ns(), wall_ns=time.time_ns(), machine=self._machine)

    def _shares(self) -> Iterator[tuple[Stream, int]]:
        # Those with little to say leave their share to the others.
        waits = [(stream.pending.count(), stream) for stream in self._spool.streams.values()]
        waits.sort(key=itemgetter(0))
        later = [stream.id for _, stream in waits if stream.stale][FROM_DISK:]
        waiting = len([1 for count, stream in waits if count and stream.id not in later])
        left = self.limit
        for count, stream in waits:
            if count and stream.id not in later:
                share = max(1, left // waiting)
                waiting -= 1
                left -= min(share, count)
                yield stream, share
            else:
                yield stream, 0

    def _due(self, stream: Stream) -> bool:
        return stream.alive and stream.reporting and time.monotonic_ns() - stream.sent_ns >= HEARTBEAT_NS

    def _batch(self, stream: Stream, records: list[Record], mapped: tuple[int, int | None]) -> wire.Batch:
        builder = Builder(stream.id, stream.identity, stream.life)
        batch = builder.add(records)
        batch.alive, batch.open_at_ns = stream.alive and stream.reporting, stream.seen_ns
        # What another boot recorded has only its wall clock.
        known = stream.boot == self._boot
        batch.offset_ns, batch.error_ns = mapped if known else (stream.wall_ns - stream.mono_ns, None)
        if batch.first + batch.count == stream.life.next and stream.alive:
            builder.open_phases(lambda begun: self._progress(stream.id, begun))
        stream.sent_ns = time.monotonic_ns()
        return batch

    def _hear(self, result: wire.Result) -> None:
        stream = self._spool.streams.get(result.stream)
        if stream is None:
            return
        if result.status == "deleted":
            logger.info("stream %s: its run is gone on the server, nothing more is kept", stream.id)
            self._spool.discard(stream)
            return
        if result.status == "refused":
            logger.warning("stream %s: the server refuses it (%s), set aside", stream.id, result.reason)
            self.refused += stream.pending.count()
            self._spool.refuse(stream)
            return
        self.refused += result.rejected
        for first, last in result.missing:
            stream.ask_again(first, last)

    def _set_aside(self, stream: Stream, record: Record) -> None:
        logger.warning("stream %s: the server refuses record %d, set aside", stream.id, record.number)
        self.refused += 1
        stream.refuse(record)
        self._spool.keep_refused(stream, record)
