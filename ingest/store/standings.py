"""How runs stand (models.standings): noted as due by whoever stores something, summed up by the watcher."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from ingest.store import arrays
from ingest.store.longest_wait import of_kinds, of_paths
from roundwatch.wire import KINDS

RECENT = 40  # rounds that other figures are of: more would make a long run slower to sum up than a short one
_AT_ONCE = 100
_DEVICES = re.compile(r"(\d{1,6}) x (.{1,200})")
_MOST_WORDS = 60_000

_NOTE = "INSERT INTO ingest_standingdue (run_id, crew) SELECT *, %s FROM unnest(%s::uuid[])"
# Those that have waited longest. A row that is committed later than this looks stays for the next time.
_TAKE = """
WITH next AS (SELECT run_id FROM ingest_standingdue GROUP BY run_id ORDER BY min(id) LIMIT %s),
taken AS (DELETE FROM ingest_standingdue d USING next WHERE d.run_id = next.run_id RETURNING d.run_id, d.crew)
SELECT run_id, bool_or(crew) FROM taken GROUP BY run_id
"""
# Against deletion, which locks the run before it deletes what is written here.
_KEEP = "SELECT id FROM ingest_run WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"
_CREW = """
SELECT w.run_id, count(*) FILTER (WHERE w.role = 'trainer'),
       coalesce(array_agg(DISTINCT w.host) FILTER (WHERE w.host <> ''), '{}'),
       coalesce(array_agg(DISTINCT w.machine) FILTER (WHERE w.machine <> ''), '{}'),
       array_agg(DISTINCT w.name)
FROM ingest_worker w WHERE w.run_id = ANY(%s) GROUP BY w.run_id
"""
# Each trainer uses one device of its host, as its newest attempt found them.
_FOUND = """
SELECT w.run_id, c.facts ->> 'devices', count(*)
FROM ingest_worker w JOIN ingest_stream s ON s.worker_id = w.id AND s.attempt = w.attempt
JOIN ingest_conditions c ON c.stream_id = s.id
WHERE w.run_id = ANY(%s) AND w.role = 'trainer' AND c.facts ->> 'devices' <> '' GROUP BY 1, 2
"""
_PERSON = """
SELECT DISTINCT ON (s.run_id) s.run_id, left(c.facts ->> 'user', 128)
FROM ingest_stream s JOIN ingest_conditions c ON c.stream_id = s.id
WHERE s.run_id = ANY(%s) AND jsonb_typeof(c.facts -> 'user') = 'string' ORDER BY s.run_id, s.began_at DESC, s.id DESC
"""
_LOCK = "SELECT 1 FROM ingest_run WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
_SAVE_CREW = """
UPDATE ingest_run r SET trainers = v.trainers, machines = v.machines, devices = v.devices, crew_words = v.words,
                        person = v.person
FROM unnest(%s::uuid[], %s::int[], %s::jsonb[], %s::jsonb[], %s::text[], %s::text[])
     AS v (id, trainers, machines, devices, words, person)
WHERE r.id = v.id AND (r.trainers, r.machines, r.devices, r.crew_words, r.person)
      IS DISTINCT FROM (v.trainers, v.machines, v.devices, v.words, v.person)
"""
_SAVE_KINDS = """
UPDATE ingest_run r SET finding_kinds = v.kinds FROM unnest(%s::uuid[], %s::jsonb[]) AS v (id, kinds)
WHERE r.id = v.id AND r.finding_kinds <> v.kinds
"""
# Walks the unique index (run, index, generation) backwards: what is of the newest closed rounds. Medians are those of
# the run's figures, so that it is the same number on every page, and until these are known of the newest rounds.
_SUMS = """
SELECT r.id, r.team_id, greatest(extract(epoch FROM coalesce(r.ended_at, now()) - r.started_at), 0)::float8,
       CASE WHEN r.devices <> '[]' THEN r.trainers END, recent.done, coalesce(f.round_s, recent.wall),
       coalesce(f.waiting_share, recent.share), recent.items, recent.known_s, recent.kinds, recent.ids,
       coalesce(found.open, 0), coalesce(found.kinds, '[]')::text
FROM ingest_run r LEFT JOIN ingest_runfigures f ON f.run_id = r.id
LEFT JOIN LATERAL (
    SELECT max(index) + 1 AS done, percentile_cont(0.5) WITHIN GROUP (ORDER BY wall) AS wall,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY share) AS share,
           sum(items) / nullif(sum(wall) FILTER (WHERE items IS NOT NULL), 0) AS items,
           sum(wall) FILTER (WHERE known) AS known_s, array_agg(kinds) FILTER (WHERE known) AS kinds,
           array_agg(id) AS ids
    FROM (
        SELECT DISTINCT ON (index) id, index, (end_ns - begin_ns) / 1e9::float8 AS wall, gpu_waiting_share AS share,
               items, kind_seconds::text AS kinds, kind_seconds IS NOT NULL AS known,
               closed AND end_ns IS NOT NULL AS over
        FROM ingest_round WHERE run_id = r.id ORDER BY index DESC, generation DESC LIMIT %(recent)s
    ) AS newest WHERE over
) AS recent ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE state = 'open') AS open, jsonb_agg(DISTINCT kind ORDER BY kind) AS kinds
    FROM ingest_finding WHERE run_id = r.id AND severity <> 'info'
) AS found ON true
WHERE r.id = ANY(%(runs)s)
"""
_SAVE = """
INSERT INTO ingest_standing (
    run_id, team_id, duration_s, gpu_hours, rounds, round_s, waiting_share, items_per_s, longest_wait,
    longest_wait_share, open_findings
)
SELECT * FROM unnest(
    %s::uuid[], %s::uuid[], %s::float8[], %s::float8[], %s::int[], %s::float8[], %s::float8[], %s::float8[], %s::text[],
    %s::float8[], %s::int[]
)
ON CONFLICT (run_id) DO UPDATE SET
    duration_s = excluded.duration_s, gpu_hours = excluded.gpu_hours, rounds = excluded.rounds,
    round_s = excluded.round_s, waiting_share = excluded.waiting_share, items_per_s = excluded.items_per_s,
    longest_wait = excluded.longest_wait, longest_wait_share = excluded.longest_wait_share,
    open_findings = excluded.open_findings
"""


def note(run_ids: Iterable[UUID], *, crew: bool = False) -> None:
    """Have runs summed up soon; with `crew` also who and where their workers are. Waits for nobody."""
    ids = list(run_ids)
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_NOTE, [crew, arrays.texts(map(str, ids))])


@transaction.atomic
def bring_up(most: int = _AT_ONCE) -> int:
    """Sum up at most so many of the runs that are due, those first that have waited longest; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [most])
        due = dict(cursor.fetchall())
        if not due:
            return 0
        cursor.execute(_KEEP, [list(due)])
        there = [run_id for (run_id,) in cursor.fetchall()]
    _save_crews([run_id for run_id in there if due[run_id]])
    _save_sums(there)
    return len(due)


def _save_crews(runs: list[UUID]) -> None:
    if not runs:
        return
    models = _models(runs)
    rows = []
    with connection.cursor() as cursor:
        cursor.execute(_PERSON, [runs])
        people = dict(cursor.fetchall())
        cursor.execute(_CREW, [runs])
        for run_id, trainers, hosts, machines, names in cursor.fetchall():
            found, devices = json.dumps([*hosts, *machines]), json.dumps(models.get(run_id, []))
            words = " ".join([*hosts, *machines, *names])[:_MOST_WORDS]
            rows.append((run_id, trainers, found, devices, words, people.get(run_id, "")))
        if rows:
            cursor.execute(_LOCK, [runs])
            cursor.execute(_SAVE_CREW, _columns(rows))


def _models(runs: list[UUID]) -> dict[UUID, list[str]]:
    """Models of devices by run, that first on whose hosts most trainers are."""
    counts: dict[UUID, Counter[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_FOUND, [runs])
        for run_id, said, trainers in cursor.fetchall():
            for part in said.split(", "):
                named = _DEVICES.fullmatch(part)
                if named:
                    counts.setdefault(run_id, Counter())[named[2][:128]] += trainers * 1000 + int(named[1])
    return {run_id: [model for model, _ in count.most_common()] for run_id, count in counts.items()}


def _save_sums(runs: Collection[UUID]) -> None:
    rows, kinds = [], []
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"runs": list(runs), "recent": RECENT})
        found = cursor.fetchall()
    waits = of_paths({row[0]: row[10] for row in found if row[10]})
    for run_id, team, duration_s, gpus, done, wall, share, items, known_s, seconds, _, opened, said in found:
        phase, part = waits.get(run_id) or of_kinds(seconds or [], known_s or 0.0, KINDS)
        hours = None if gpus is None else gpus * duration_s / 3600
        rows.append((run_id, team, duration_s, hours, done, wall, share, items, phase, part, opened))
        kinds.append((run_id, said))
    with connection.cursor() as cursor:
        if rows:
            cursor.execute(_SAVE, _columns(rows))
            _save_kinds(cursor, kinds)


def _save_kinds(cursor: Any, kinds: Sequence[tuple[UUID, str]]) -> None:
    """Only where they differ: words and labels of the run are made anew from them."""
    cursor.execute("SELECT id, finding_kinds::text FROM ingest_run WHERE id = ANY(%s)", [[key for key, _ in kinds]])
    before = dict(cursor.fetchall())
    changed = [(key, said) for key, said in kinds if json.loads(before[key]) != json.loads(said)]
    if changed:
        cursor.execute(_LOCK, [[key for key, _ in changed]])
        cursor.execute(_SAVE_KINDS, _columns(changed))


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
