"""Whether 1,024 ranks at one step a second are kept up with on this machine, what it costs, and what it fills.

Run as `python -m tests.bench senders [--minutes 10] [--way hosts|ranks|flood]`. In one way, as a job is, 128 hosts with
eight ranks send a request a second each, within the 200 ms in which a shipper wakes; in the other each rank sends a
request of its own, spread over the second. Web server, Celery worker, watcher, Postgres, Valkey and the senders share
the machine.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
import redis

from tests.bench import processes
from tests.bench.fleet import RECORDS, SECOND, Orders
from tests.bench.stage import REPOSITORY, Stage, stage
from tests.bench.table import Row, conditions, percentile, show

RANKS = 1024
SETTLED_S = 10.0  # what is not done by then after the last request is called waiting
# What grows with every step; a stream's and a worker's row do not.
GROWING = ("ingest_phase", "ingest_event", "ingest_sample", "ingest_round", "ingest_workerround")
_SIZE = """
SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relname = %(table)s OR i.inhparent = %(table)s::regclass
"""
_LEFT = """
SELECT count(*) FILTER (WHERE NOT closed), count(*) FILTER (WHERE closed AND verdict_version <> data_version), count(*)
FROM ingest_round r JOIN ingest_run u ON u.id = r.run_id WHERE u.key = %s AND r.index < %s
"""
_STORED = """
SELECT coalesce(sum(s.stored_count), 0)
FROM ingest_stream s JOIN ingest_run r ON r.id = s.run_id WHERE r.key = %s
"""


@dataclass(frozen=True)
class Way:
    """How 1,024 ranks reach the server: `begin_s` is how long their attempts take to begin."""

    name: str
    title: str
    hosts: int
    spread_s: float
    begin_s: float
    period_s: float = 1.0


WAYS = (
    Way("hosts", "128 hosts x 8 ranks, a request per host and second", 128, 0.2, 6.0),
    Way("ranks", "1,024 requests a second, one of each rank", RANKS, 1.0, 15.0),
)
# More than any machine of two cores takes, to see what gives way first; only on request.
FLOOD = Way("flood", "128 hosts x 8 ranks, ten steps a second", 128, 0.1, 6.0, period_s=0.1)


@dataclass
class Found:
    """What one way brought: the senders' own words, and what the server held when they were done."""

    told: dict[str, Any]
    cpu: dict[str, float]
    seconds: float
    waiting: dict[str, int]
    settled_s: float
    stored: int
    messages: int
    sizes: dict[str, tuple[int, int]]


def measure(place: Stage, way: Way, minutes: float) -> Found:
    """Let the senders run and look at what they leave."""
    steps = int(minutes * 60 / way.period_s)
    orders = Orders(
        place.url, place.token, f"{way.name}-{time.time_ns()}", way.hosts, RANKS // way.hosts, steps,
        time.time_ns() + int(way.begin_s * SECOND), way.spread_s, int(way.period_s * SECOND),
    )  # fmt: skip
    before = sizes(place)
    told, cpu, seconds = let_run(place, way, orders, minutes)
    ended = time.monotonic()
    waiting = left(place, orders)
    while any(left(place, orders).values()) and time.monotonic() - ended < SETTLED_S:
        time.sleep(0.1)
    settled_s = time.monotonic() - ended
    grown = {table: (own - before[table][0], index - before[table][1]) for table, (own, index) in sizes(place).items()}
    return Found(told, cpu, seconds, waiting, settled_s, counted(place, orders), messages(place, orders), grown)


def let_run(place: Stage, way: Way, orders: Orders, minutes: float) -> tuple[dict[str, Any], dict[str, float], float]:
    """The senders' words, cores that each process used while they sent, and over how many seconds that was seen."""
    fleet = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.fleet"],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert fleet.stdin is not None
    fleet.stdin.write(json.dumps(asdict(orders)) + "\n")
    fleet.stdin.flush()
    time.sleep(way.begin_s)
    parts = dict(place.parts) | {"senders": fleet.pid}
    clock, first = time.monotonic(), processes.cpu_seconds(parts)
    # Shortly before the senders end, for a process that is gone tells nothing.
    time.sleep(max(0.0, minutes * 60 - 1.0))
    seconds, last = time.monotonic() - clock, processes.cpu_seconds(parts)
    output, _ = fleet.communicate()
    if fleet.returncode:
        raise SystemExit("the senders failed")
    return json.loads(output), {name: (last[name] - first[name]) / seconds for name in parts}, seconds


def left(place: Stage, orders: Orders) -> dict[str, int]:
    """What is not done yet of rounds that have ended, and what waits in the queues."""
    with psycopg.connect(place.database_url) as connection:
        row = connection.execute(_LEFT, [orders.run, orders.steps]).fetchone()
    assert row is not None
    with redis.Redis.from_url(place.redis_url) as client:
        tasks = int(client.llen("celery")) + int(client.hlen("unacked"))
    return {"rounds not closed": row[0], "rounds not judged": row[1], "tasks": tasks}


def messages(place: Stage, orders: Orders) -> int:
    """How many messages the run's viewers were sent."""
    with psycopg.connect(place.database_url) as connection:
        row = connection.execute("SELECT id FROM ingest_run WHERE key = %s", [orders.run]).fetchone()
    assert row is not None
    with redis.Redis.from_url(place.redis_url) as client:
        return int(client.xinfo_stream(f"rw:feed:{row[0]}")["entries-added"])


def counted(place: Stage, orders: Orders) -> int:
    """How many records are stored."""
    with psycopg.connect(place.database_url) as connection:
        row = connection.execute(_STORED, [orders.run]).fetchone()
    assert row is not None
    return int(row[0])


def sizes(place: Stage) -> dict[str, tuple[int, int]]:
    """Bytes of rows and of indexes of each table that grows with time."""
    with psycopg.connect(place.database_url, autocommit=True) as connection:
        return {table: connection.execute(_SIZE, {"table": table}).fetchone() or (0, 0) for table in GROWING}


def tell(way: Way, found: Found, minutes: float) -> None:
    """Print it all."""
    steps = int(minutes * 60 / way.period_s)
    seconds = found.told["seconds"]
    acknowledged = RANKS * 3 + RECORDS * (RANKS // way.hosts) * (way.hosts * steps - len(found.told["refused"]))
    waiting = sum(found.waiting.values())
    print(f"\n{way.title}, {minutes:g} minutes")
    show(
        [
            Row(name="requests not answered as stored", ours=len(found.told["refused"]), most=0),
            Row(name="requests that left late", ours=found.told["late"]),
            Row(name="acknowledged records not stored", ours=max(0, acknowledged - found.stored), most=0),
            Row(name="waiting when the last was answered", ours=waiting),
            Row(name="seconds until nothing waited", ours=found.settled_s, unit="s", most=2.0),
            Row(name="ingest p50", ours=percentile(seconds, 0.5) * 1e3, unit="ms"),
            Row(name="ingest p99", ours=percentile(seconds, 0.99) * 1e3, unit="ms"),
            Row(name="ingest worst", ours=max(seconds) * 1e3, unit="ms"),
            Row(name="messages to viewers", ours=found.messages / found.seconds, unit="a second"),
            *(Row(name=f"CPU of {name}", ours=share * 100, unit="% of a core") for name, share in found.cpu.items()),
        ]
    )
    for answer, count in Counter(found.told["refused"]).items():
        print(f"  not stored: {count} x {answer}")
    print("  waiting then: " + ", ".join(f"{name} {count}" for name, count in found.waiting.items()))
    tell_disk(found, RANKS * steps)


def tell_disk(found: Found, steps: int) -> None:
    """Print what a rank's step fills, and from it what 1,000 GPU-days at a step a second do."""
    total = 0.0
    for table, (own, index) in found.sizes.items():
        if own + index > 0:
            total += (own + index) / steps
            print(f"  {table:<20} {own / steps:7.1f} B of rows + {index / steps:6.1f} B of indexes a step of a rank")
    print(
        f"  {total:.0f} B a step x 86,400 steps a day x 1,000 GPU-days = {total * 86_400 * 1_000 / 1e9:.1f} GB"
        " (rounds and parts stay, phases go with their retention)"
    )


def main() -> None:
    """Measure each way, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--way", choices=[way.name for way in (*WAYS, FLOOD)])
    options = parser.parse_args()
    conditions("senders", f"{RANKS} ranks, a step a second each")
    with stage(tasks=True) as place:
        for way in [way for way in (*WAYS, FLOOD) if options.way == way.name] or WAYS:
            tell(way, measure(place, way, options.minutes), options.minutes)


if __name__ == "__main__":
    main()
