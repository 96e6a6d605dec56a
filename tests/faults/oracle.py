"""What Postgres must hold, by what the writers' returned calls were: invariants, a sentence for each broken one."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

Rows = list[tuple[Any, ...]]
Numbers = dict[int, int]  # by thread: how many calls have returned, numbered from 0

TABLES = {"": "ingest_phase", ".events": "ingest_event"}


class Database:
    """Reads Postgres from outside, a connection a question: it may be killed at any moment."""

    def __init__(self, url: str) -> None:
        self.url = url

    def rows(self, question: str, *values: Any) -> Rows:
        """Raises psycopg.OperationalError while Postgres is away."""
        options = "-c statement_timeout=20000"
        with psycopg.connect(self.url, connect_timeout=3, options=options) as connection:
            return connection.execute(question, values).fetchall()

    def one(self, question: str, *values: Any) -> Any:
        return self.rows(question, *values)[0][0]


@dataclass(frozen=True)
class Ledger:
    """What a writer's calls were that returned, out of its files."""

    oracle: Path

    def returned(self, sort: str) -> Numbers:
        """Calls by thread. Raises AssertionError where a file is not what a writer writes."""
        counts: Numbers = {}
        for thread, number in self._lines(sort):
            assert number == counts.get(thread, 0), f"{self.oracle}{sort}: thread {thread} went on with {number}"
            counts[thread] = number + 1
        return counts

    def rounds(self) -> int:
        path = self.oracle.with_name(self.oracle.name + ".rounds")
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def _lines(self, sort: str) -> Iterator[tuple[int, int]]:
        path = self.oracle.with_name(self.oracle.name + sort)
        whole, _, _ = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
        for line in whole.splitlines():
            thread, number = line.split()
            yield int(thread), int(number)


def stored(database: Database, run: str, sort: str) -> dict[int, tuple[int, int]]:
    """By thread: how many of a sort are stored, and one more than the highest number. Raises OperationalError."""
    if sort == ".samples":
        question = """SELECT split_part(c.metric, '-', 2)::int, count(*), max(p.value)::int + 1 FROM ingest_sample p
            JOIN ingest_series c ON c.id = p.series_id JOIN ingest_stream s ON s.id = p.stream_id
            WHERE s.run_id = %s AND c.metric LIKE 'count-%%' GROUP BY 1"""
    else:
        ok = "AND state = 0" if sort == "" else ""
        question = f"""SELECT (attrs->>'thread')::int, count(DISTINCT attrs->>'i'), max((attrs->>'i')::int) + 1
            FROM {TABLES[sort]} WHERE run_id = %s AND attrs ? 'i' {ok} GROUP BY 1"""  # noqa: S608 - constants
    return {thread: (count, end) for thread, count, end in database.rows(question, run)}


def unseen(database: Database, run: str, sort: str, returned: Numbers) -> int:
    """How many of the calls that had returned are not stored, holes included. Raises OperationalError."""
    found = stored(database, run, sort)
    missing = 0
    for thread, count in returned.items():
        have, end = found.get(thread, (0, 0))
        missing += max(0, count - end) + (end - have)
    return missing


def doubled(database: Database, run: str) -> list[str]:
    """Records of the run that are stored twice."""
    broken = []
    for table in ("ingest_phase", "ingest_event", "ingest_sample"):
        twice = database.rows(
            f"""SELECT stream_id, number, count(*) FROM {table}
                WHERE stream_id IN (SELECT id FROM ingest_stream WHERE run_id = %s)
                GROUP BY 1, 2 HAVING count(*) > 1 LIMIT 5""",  # noqa: S608 - constants
            run,
        )
        broken += [f"{table}: record {number} of stream {stream} stands there {n} times" for stream, number, n in twice]
    return broken


STREAM = """
SELECT s.id, s.highest, s.numbers::text, s.stored_count, s.rejected_count,
       coalesce((SELECT sum(span) FROM ingest_gap g WHERE g.stream_id = s.id), 0)::bigint,
       (SELECT count(*) FROM ingest_quarantine q WHERE q.stream_id = s.id)
FROM ingest_stream s WHERE {}
"""
# One statement: records that came between two would be in the tables and not among the stream's numbers.
UNTABLED = """
SELECT s.id, s.highest + 1, gaps.span, s.highest + 1 - gaps.span - (SELECT count(DISTINCT number) FROM (
    SELECT number FROM ingest_phase WHERE stream_id = s.id
    UNION ALL SELECT start_number FROM ingest_phase WHERE stream_id = s.id
    UNION ALL SELECT number FROM ingest_event WHERE stream_id = s.id
    UNION ALL SELECT number FROM ingest_sample WHERE stream_id = s.id
    UNION ALL SELECT number FROM ingest_quarantine WHERE stream_id = s.id
) AS taken)
FROM ingest_stream s CROSS JOIN LATERAL (
    SELECT coalesce(sum(g.span), 0)::bigint AS span FROM ingest_gap g WHERE g.stream_id = s.id
) AS gaps
WHERE s.run_id = %s
"""


def conserved(database: Database, where: str, *values: Any) -> list[str]:
    """Streams for which produced = stored + counted gaps + quarantined does not hold, once nothing waits any more."""
    broken = []
    for stream, highest, numbers, kept, rejected, gaps, quarantined in database.rows(STREAM.format(where), *values):
        if numbers != f"{{[0,{highest + 1})}}":
            broken.append(f"stream {stream}: of {highest + 1} records the server has {numbers}")
        if kept + gaps + rejected != highest + 1:
            broken.append(f"stream {stream}: {highest + 1} produced, {kept} stored, {gaps} gaps, {rejected} refused")
        if quarantined != min(rejected, 1000):
            broken.append(f"stream {stream}: {rejected} refused, {quarantined} in quarantine")
    return broken


def sums(database: Database, within_s: float) -> str:
    """What became of all numbers of all streams, in words, once it adds up: a host's samples go on coming.

    Raises AssertionError where that takes too long.
    """
    question = """SELECT count(*), coalesce(sum(highest + 1), 0), coalesce(sum(stored_count), 0),
        (SELECT coalesce(sum(span), 0) FROM ingest_gap), coalesce(sum(rejected_count), 0) FROM ingest_stream"""
    deadline = time.monotonic() + within_s
    while True:
        streams, produced, kept, gaps, refused = database.rows(question)[0]
        told = f"{streams} streams, {produced} produced = {kept} stored + {gaps} in gaps + {refused} quarantined"
        if produced == kept + gaps + refused:
            return told
        assert time.monotonic() < deadline, f"not within {within_s} s: {told}"
        time.sleep(0.2)


def explained(database: Database, run: str, rounds: int) -> list[str]:
    """Streams whose numbers stand for other rows than the tables hold: what is no row is a round's or a life's."""
    # Of each round begin and end, of the life begin and finish (or that its process is gone).
    return [
        f"stream {stream}: {other} of {produced} records are in no table, with {rounds} rounds that had ended "
        f"and {gaps} in gaps"
        for stream, produced, gaps, other in database.rows(UNTABLED, run)
        if not 2 * rounds + 2 <= other <= 2 * rounds + 4
    ]


def unacknowledged(database: Database, stream: str, acknowledged: int) -> list[str]:
    """What is missing or doubled of a prober's phases, of which so many had been acknowledged."""
    question = """SELECT count(*), count(DISTINCT attrs->>'i') FROM ingest_phase p
        JOIN ingest_stream s ON s.id = p.stream_id WHERE s.uid = %s"""
    rows, distinct = database.rows(question, stream)[0]
    broken = [f"{acknowledged} batches were acknowledged, {distinct} are stored"] if distinct < acknowledged else []
    return [*broken, *([f"{rows} phases are stored for {distinct}"] if rows != distinct else [])]


def await_none(look: Callable[[], list[str]], within_s: float) -> None:
    """Returns once nothing is broken any more; AssertionError with the sentences where that takes too long."""
    deadline = time.monotonic() + within_s
    while broken := look():
        assert time.monotonic() < deadline, f"not within {within_s} s: " + "; ".join(broken)
        time.sleep(0.2)
