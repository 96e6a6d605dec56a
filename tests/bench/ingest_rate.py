"""How many records a second go from HTTP POST to commit, beside a bare binary COPY of the same rows; medians, printed.

Run as `python -m tests.bench ingest_rate`. Four senders post prepared requests to the real web server, each one after
the other; then the rows that these left in `ingest_phase` are copied by four connections into a table of the same
shape, one transaction for what was one request. A record is an ended phase, every fourth with an attribute; each
request belongs to a round of its own, which all senders share. What ingest keeps besides is not counted.
"""

import http.client
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.types.json import Jsonb

from roundwatch import wire
from tests.bench.stage import Stage, stage
from tests.bench.table import Row, conditions, median_ratio, show
from tests.ingest.batches import Recorder, request

SENDERS, REPETITIONS = 4, 7
PROMISED = 2_000  # records a request, about which something was promised
SECOND = 1_000_000_000

# The types of ingest_phase's columns, in the order in which the table has them.
TYPES = ["uuid", *["int8"] * 8, "date", *["int4"] * 3, *["int2"] * 2, "int8", "jsonb"]
TWIN = """
CREATE TABLE bench_phase (LIKE ingest_phase INCLUDING ALL) PARTITION BY RANGE (arrived);
CREATE TABLE bench_phase_all PARTITION OF bench_phase FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
"""


class Sender:
    """One shipper: its streams, and the requests that it has prepared."""

    def __init__(self, run: str, number: int, streams: int) -> None:
        """Begin `streams` attempts of as many workers of a run."""
        self._began_ns = time.time_ns() - 3600 * SECOND
        self._recorders = [
            Recorder(f"rank-{number}-{place}", run=run, began_ns=self._began_ns) for place in range(streams)
        ]
        self.round = 0

    def bodies(self, records: int, count: int) -> list[bytes]:
        """`count` requests of `records` ended phases, each in a round of its own."""
        return [self._body(records) for _ in range(count)]

    def _body(self, records: int) -> bytes:
        each = records // len(self._recorders)
        for recorder in self._recorders:
            for place in range(each):
                begin = self._began_ns + (self.round * each + place) * 1_000
                attrs: dict[str, Any] = {"nbytes": place} if place % 4 == 0 else {}
                recorder.phase(("train", "encode", "upload")[place % 3], begin, begin + 900, round=self.round, **attrs)
        self.round += 1
        return wire.encode(request(*(recorder.batch() for recorder in self._recorders)))


def in_parallel(acts: Sequence[Callable[[], None]]) -> float:
    """Seconds until all acts, begun together in threads of their own, have ended."""
    gate = threading.Barrier(len(acts) + 1)

    def run(act: Callable[[], None]) -> None:
        gate.wait()
        act()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def posting(address: str, path: str, bodies: Sequence[bytes], headers: dict[str, str]) -> Callable[[], None]:
    """What one sender does: post its requests, one after the other, on one connection."""
    connection = http.client.HTTPConnection(address)

    def act() -> None:
        for body in bodies:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                raise SystemExit(f"refused: {response.status} {answer[:500]!r}")
        connection.close()

    return act


def copying(place: Stage, requests: Sequence[Sequence[tuple[Any, ...]]]) -> Callable[[], None]:
    """What one connection does: copy the rows of one request after the other, each in a transaction."""
    connection = psycopg.connect(place.database_url, autocommit=True)

    def act() -> None:
        for rows in requests:
            with (
                connection.transaction(),
                connection.cursor() as cursor,
                cursor.copy("COPY bench_phase FROM STDIN (FORMAT BINARY)") as target,
            ):
                target.set_types(TYPES)
                for row in rows:
                    target.write_row(row)
        connection.close()

    return act


def rows_since(place: Stage, run: str, first: int) -> list[tuple[Any, ...]]:
    """The run's stored rows from round `first` on; attributes as texts that need no more encoding."""
    query = """SELECT p.*, p.attrs::text FROM ingest_phase p JOIN ingest_run r ON r.id = p.run_id
               WHERE r.key = %s AND p.round >= %s ORDER BY p.round, p.stream_id, p.number"""
    with psycopg.connect(place.database_url) as connection:
        rows = connection.execute(query, [run, first]).fetchall()
    return [(*row[:-2], row[-1] and Jsonb(row[-1], dumps=str)) for row in rows]


@dataclass
class Shape:
    """Requests of `records` records from `streams` streams, `requests` of each sender in one repetition."""

    records: int
    streams: int
    requests: int
    rates: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin a run of its own."""
        self._run = f"{self.records} of {self.streams}"
        self._senders = [Sender(self._run, number, self.streams) for number in range(SENDERS)]

    def measure(self, place: Stage) -> tuple[float, float]:
        """Records a second by HTTP and by COPY, one after the other."""
        first, total = self._senders[0].round, SENDERS * self.records * self.requests
        address, bodies = (
            urlsplit(place.url).netloc,
            [each.bodies(self.records, self.requests) for each in self._senders],
        )
        headers = {"Authorization": f"Bearer {place.token}", "Content-Encoding": "gzip"}
        acts = [posting(address, wire.PATH, each, headers) for each in bodies]
        posted = total / in_parallel(acts)
        rows = rows_since(place, self._run, first)
        if len(rows) != total:
            raise SystemExit(f"{total} records were answered as stored, and {len(rows)} are")
        chunks = [rows[begin : begin + self.records] for begin in range(0, total, self.records)]
        copied = total / in_parallel([copying(place, chunks[number::SENDERS]) for number in range(SENDERS)])
        return posted, copied

    def row(self) -> Row:
        """The medians, and the median of the ratios."""
        posted, copied = (statistics.median(column) for column in zip(*self.rates, strict=True))
        return Row(
            name=f"{self.records:,} records a request, {self.streams} streams",
            ours=posted,
            reference=copied,
            unit="/s",
            ratio=median_ratio(self.rates),
            least=0.5 if self.records == PROMISED else None,
        )


def main() -> None:
    """Measure every shape several times, in turns, and print medians."""
    shapes = [Shape(20, 1, 60), Shape(200, 1, 30), Shape(PROMISED, 1, 6), Shape(PROMISED, 8, 6)]
    conditions("ingest_rate", f"{SENDERS} senders", f"{REPETITIONS} repetitions")
    with stage() as place:
        with psycopg.connect(place.database_url, autocommit=True) as connection:
            connection.execute(TWIN)
        for shape in shapes:
            shape.measure(place)  # fills caches
        for _ in range(REPETITIONS):
            for shape in shapes:
                shape.rates.append(shape.measure(place))
    show(shape.row() for shape in shapes)


if __name__ == "__main__":
    main()
