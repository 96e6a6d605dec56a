"""A team's history for benchmarks: runs of years, seeded, written by COPY; some of them with all their phases.

What ingest and its tasks would have stored of them is written as they store it. Triggers are left out meanwhile, and
what they would have written is written at the end.
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

PROJECTS = ("vit-pets", "vit-h", "lm-small", "lm-sites", "vision-old", "diloco", "speech", "ranking")
DEVICES = ("NVIDIA A40", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S", "AMD Instinct MI300X")
PEOPLE = ("mika", "olga", "vera", "stan", "ada")
KINDS = ("straggler", "work_on_path", "imbalance", "memory_retention", "utilisation_trap", "training_health")
NAMES = ("load", "train", "encode", "upload", "wait", "apply")
KIND_NUMBERS = (1, 0, 2, 3, 7, 6)
RARE_TAG, COMMON_TAG = "milestone", "nightly"
SECOND = 10**9
ROUNDS, DETAILED_ROUNDS = 6, 40
WORKERS, DETAILED_WORKERS = 2, 16
NEWEST = datetime(2026, 3, 1, 12, tzinfo=UTC)

_PHASES = """
INSERT INTO ingest_phase (run_id, worker_id, stream_id, number, start_number, parent, begin_ns, end_ns, offset_ns,
                          arrived, round, name_index, thread, kind, state)
SELECT s.run_id, s.worker_id, s.id, 2 * place + 1, 2 * place, -1, begun,
       begun + 500000000::bigint * (1 + place * 7 %% 9), 0,
       current_date, lap, which, 0, (%(kinds)s::int[])[1 + which], 0
FROM ingest_stream s JOIN ingest_run r ON r.id = s.run_id
CROSS JOIN generate_series(0, %(rounds)s - 1) AS lap
CROSS JOIN generate_series(0, cardinality(%(kinds)s::int[]) - 1) AS which
CROSS JOIN LATERAL (
    SELECT lap * cardinality(%(kinds)s::int[]) + which AS place,
           (extract(epoch FROM r.started_at)::bigint + 60 * lap + 5 * which) * 1000000000 AS begun
) AS at
"""
_STREAMS = """
INSERT INTO ingest_stream (team_id, uid, worker_id, run_id, index, attempt, machine, pid, began_at, ended_at, end_state,
                           highest, stored_count, dropped_count, rejected_count, opens, opens_number, opens_at_ns,
                           offset_ns, heard_at, deleted)
SELECT r.team_id, gen_random_uuid(), w.id, r.id, w.index, 0, w.machine, 1, r.started_at, r.ended_at, 'finished',
       %(last)s, %(last)s + 1, 0, 0, '[]', %(last)s, 0, 0, r.heard_at, false
FROM ingest_worker w JOIN ingest_run r ON r.id = w.run_id WHERE r.id = ANY(%(runs)s)
"""
_PARTS = """
INSERT INTO ingest_workerround (round_id, stream_id, worker_id, begin_ns, end_ns, derived)
SELECT o.id, s.id, s.worker_id, o.begin_ns, o.end_ns, false
FROM ingest_round o JOIN ingest_stream s ON s.run_id = o.run_id WHERE o.run_id = ANY(%(runs)s)
"""
_NAMES = """
INSERT INTO ingest_phasename (run_id, index, name, kind)
SELECT run, place - 1, name, kind FROM unnest(%(runs)s::uuid[]) AS run
CROSS JOIN unnest(%(names)s::text[], %(kinds)s::int[]) WITH ORDINALITY AS v (name, kind, place)
"""
_SETTINGS = """
INSERT INTO ingest_setting (run_id, team_id, path, number, text)
SELECT r.id, r.team_id, found.path, found.number, found.said
FROM ingest_run r CROSS JOIN ingest_settings_of(r.config) AS found WHERE r.team_id = %(team)s
"""


@dataclass(frozen=True)
class History:
    """What was written; `detailed` are the runs that have phases."""

    runs: int
    detailed: Sequence[UUID]


def fill(team_id: UUID, *, runs: int = 100_000, detailed: int = 500, seed: int = 7) -> History:
    """Give the team `runs` runs, the newest `detailed` of them with phases of 16 workers over 40 rounds."""
    chance = random.Random(seed)  # noqa: S311 - the same history each time
    keys = [UUID(int=chance.getrandbits(128), version=4) for _ in range(runs)]
    rich = keys[:detailed]
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table, columns, rows in (
            ("ingest_run", _RUN, (_run(team_id, key, place, chance) for place, key in enumerate(keys))),
            ("ingest_standing", _STANDING, (_standing(team_id, key, chance) for key in keys)),
            ("ingest_worker", _WORKER, _all(_workers, keys, detailed)),
            ("ingest_round", _ROUND, _all(_rounds, keys, detailed, chance)),
            ("ingest_finding", _FINDING, _all(_findings, keys, detailed, chance)),
        ):
            _copy(cursor, table, columns, rows)
        told: dict[str, Any] = {"runs": list(rich), "kinds": list(KIND_NUMBERS), "names": list(NAMES), "team": team_id}
        told |= {"rounds": DETAILED_ROUNDS, "last": 2 * DETAILED_ROUNDS * len(NAMES) - 1}
        for statement in (_NAMES, _STREAMS, _PARTS, _PHASES, _SETTINGS):
            cursor.execute(statement, told)
        cursor.execute("SET session_replication_role = origin")
        for table in ("run", "standing", "setting", "worker", "round", "finding", "stream", "phase", "workerround"):
            cursor.execute(f"VACUUM (ANALYZE) ingest_{table}")
    return History(runs, rich)


def started(place: int) -> datetime:
    """When the run in this place began, the newest first: some twenty a day."""
    return NEWEST - timedelta(minutes=72 * place)


def name_of(place: int) -> str:
    """What the run in this place is called."""
    return f"{PROJECTS[place % len(PROJECTS)]}-b{16 << place % 3}-run{place}"


_RUN = (
    "id, team_id, project, key, serial, name, state, tags, notes, person, trainers, machines, devices, crew_words, "
    "finding_kinds, config, conditions, rounds_planned, started_at, ended_at, heard_at, first_day, last_day"
)


def _run(team_id: UUID, key: UUID, place: int, chance: random.Random) -> tuple[Any, ...]:
    began = started(place)
    running = place < 3
    state = "running" if running else chance.choices(("finished", "failed", "lost", "killed"), (80, 10, 5, 5))[0]
    ended = None if running else began + timedelta(seconds=chance.randrange(60, 40_000))
    tags = [COMMON_TAG] * (chance.random() < 0.4) + [RARE_TAG] * (chance.random() < 0.001)
    config = {
        "lr": 10 ** chance.uniform(-5, -1), "batch": chance.choice((32, 64, 128)), "seed": place,
        "optimizer": {"name": chance.choice(("adamw", "sgd", "lion")), "betas": [0.9, 0.95]},
        "model": {"depth": chance.choice((12, 24, 32)), "width": 768},
    }  # fmt: skip
    hosts = _hosts(place)
    kinds = sorted({kind for kind, _, _ in _incidents(place)})
    return (
        key, team_id, PROJECTS[place % len(PROJECTS)], f"job-{place}", 0, name_of(place), state, json.dumps(tags),
        "ran **well**" if place % 50 == 0 else "", PEOPLE[place % len(PEOPLE)], WORKERS, json.dumps(hosts),
        json.dumps([DEVICES[place % len(DEVICES)]]), " ".join(hosts), json.dumps(kinds), json.dumps(config),
        json.dumps({"torch": "2.9.1", "cuda": "12.8"}), 100, began, ended, ended or began, began.date(), began.date(),
    )  # fmt: skip


def _hosts(place: int) -> list[str]:
    return [f"gpu-node-{(place * 7 + number) % 400:03}" for number in range(WORKERS)]


_STANDING = (
    "run_id, team_id, rounds, round_s, waiting_share, items_per_s, duration_s, gpu_hours, longest_wait, "
    "longest_wait_share, open_findings"
)


def _standing(team_id: UUID, key: UUID, chance: random.Random) -> tuple[Any, ...]:
    lasted = chance.uniform(60, 40_000)
    known = chance.random() < 0.9  # of others no round has closed
    return (
        key, team_id, chance.randrange(1, 5_000) if known else None, chance.lognormvariate(2, 1) if known else None,
        chance.random() if known else None, chance.uniform(10, 9_000) if chance.random() < 0.5 else None, lasted,
        lasted * WORKERS / 3600, "encode" if known else "", chance.random() / 2 if known else None, 0,
    )  # fmt: skip


_WORKER = 'run_id, index, name, role, rank, "group", machine, host, state, state_reason, attempt, last_seen'


def _workers(place: int, key: UUID, rich: bool) -> Iterator[tuple[Any, ...]]:
    hosts = _hosts(place)
    for index in range(DETAILED_WORKERS if rich else WORKERS):
        host = hosts[index % WORKERS]
        yield (
            key,
            index,
            f"rank-{index}",
            "trainer",
            index,
            None,
            f"boot-{host}",
            host,
            "finished",
            "",
            0,
            started(place),
        )


_ROUND = (
    "run_id, index, generation, begin_ns, end_ns, closed, data_version, verdict_version, tries, tried_version, "
    "judged_version, lasting_version, trainers, coverage, gpu_waiting_share, kind_seconds"
)


def _rounds(place: int, key: UUID, rich: bool, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    begin = int(started(place).timestamp()) * SECOND
    for index in range(DETAILED_ROUNDS if rich else ROUNDS):
        wall = chance.uniform(20, 50)
        seconds = json.dumps([round(wall / 9, 3)] * 9)
        at = begin + index * 60 * SECOND
        yield (
            key, index, 0, at, at + int(wall * SECOND), True, 1, 1, 1, 1, 1, 1, WORKERS, 0.98, chance.random(), seconds,
        )  # fmt: skip


def _incidents(place: int) -> list[tuple[str, str, str]]:
    """Kind, phase and state of the findings of the run in this place: of every fifth, every thousandth's open."""
    if place % 5:
        return []
    state = "open" if place % 1000 == 0 else "resolved"
    return [(KINDS[(place // 5 + number) % len(KINDS)], NAMES[place % len(NAMES)], state) for number in range(2)]


_FINDING = (
    "id, run_id, kind, fingerprint, state, severity, observed, hypothesis, phase, workers, rounds, spans, evidence, "
    "opened_at, updated_at, version"
)


def _findings(place: int, key: UUID, _rich: bool, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    for number, (kind, phase, state) in enumerate(_incidents(place)):
        own, at = UUID(int=chance.getrandbits(128), version=4), started(place)
        yield (
            own, key, kind, f"{kind}:{number}", state, "warning", f"rank-1 took 18.0 s for {phase}", "", phase,
            '["rank-1"]', "[2, 3]", "[]", "{}", at, at, 1,
        )  # fmt: skip


def _all(make: Any, keys: Sequence[UUID], detailed: int, *more: Any) -> Iterator[tuple[Any, ...]]:
    for place, key in enumerate(keys):
        yield from make(place, key, place < detailed, *more)


def _copy(cursor: Any, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
