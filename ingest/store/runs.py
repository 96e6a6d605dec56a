"""Runs: what an attempt's begin says of them, when they were heard of last, and their deletion."""

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from ingest.models import Run
from ingest.store import arrays
from ingest.store.ahead import MOST_AHEAD

_HEARD_EVERY = dt.timedelta(seconds=1)
_DUE = """
SELECT id FROM ingest_run
WHERE id = ANY(%s::uuid[]) AND (heard_at < %s OR last_day < %s OR heard_at > %s)
"""
_HEARD = """
UPDATE ingest_run SET heard_at = CASE WHEN heard_at > %(ahead)s THEN %(now)s ELSE greatest(heard_at, %(now)s) END,
                      last_day = greatest(last_day, %(day)s)
WHERE id = ANY(%(ids)s)
"""
_CONDITIONS = """
INSERT INTO ingest_conditions (stream_id, facts) SELECT * FROM unnest(%s::bigint[], %s::jsonb[])
ON CONFLICT (stream_id) DO UPDATE SET facts = excluded.facts
"""


def due(run_ids: Iterable[UUID], now: dt.datetime) -> set[UUID]:
    """Those whose row does not yet say that they were heard of in this second and on this day."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [arrays.texts(map(str, run_ids)), now - _HEARD_EVERY, now.date(), now + MOST_AHEAD])
        return {run_id for (run_id,) in cursor.fetchall()}


def lock(run_ids: Iterable[UUID]) -> None:
    """Lock the rows in id order until the transaction ends."""
    ids = sorted(run_ids)
    if not ids:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM ingest_run WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [ids])


def heard(run_ids: Iterable[UUID], now: dt.datetime) -> None:
    """Note on locked rows that they were heard of, and that today's partitions hold some of their records."""
    ids = list(run_ids)
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_HEARD, {"now": now, "ahead": now + MOST_AHEAD, "day": now.date(), "ids": ids})


def keep_conditions(words: Mapping[int, Mapping[str, Any]]) -> None:
    """Keep the conditions that attempts (Stream.id) said at their begin, each attempt's own, and what else it said."""
    all_said = {stream: word.get("attempt", {}) | word.get("conditions", {}) for stream, word in words.items()}
    said = {stream: facts for stream, facts in all_said.items() if facts}
    if said:
        with connection.cursor() as cursor:
            cursor.execute(_CONDITIONS, [list(said), [json.dumps(facts) for facts in said.values()]])


def begun(run_id: UUID, words: Sequence[Mapping[str, Any]]) -> bool:
    """Take over what attempts said at their begin, on a locked row; returns whether it changed.

    The first name stays, for people may have changed it since; figures and configuration follow the newest
    attempt, and so does each of the conditions, which hosts may not share: `keep_conditions` keeps them apart. Tags
    add up.
    """
    run = Run.objects.get(pk=run_id)
    before = {name: getattr(run, name) for name in _CHANGED}
    for word in words:
        if run.name == run.key:
            run.name = word.get("name") or run.name
        run.config = run.config | word.get("config", {})
        run.conditions = run.conditions | word.get("conditions", {})
        run.tags = list(dict.fromkeys([*run.tags, *word.get("tags", [])]))
        run.rounds_planned = word.get("rounds", run.rounds_planned)
        run.model_bytes = word.get("model_bytes", run.model_bytes)
        run.flops_per_item = word.get("flops_per_item", run.flops_per_item)
    changed = [name for name in _CHANGED if getattr(run, name) != before[name]]
    if changed:
        run.save(update_fields=changed)
    return bool(changed)


_CHANGED = ("name", "config", "conditions", "tags", "rounds_planned", "model_bytes", "flops_per_item")
