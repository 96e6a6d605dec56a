"""What a viewer shows of a run that has ended, beside the database: rounds, samples, its state, and nothing open."""

import math
from typing import Any

from ingest.feed.frames import StepFlag
from tests.dashboard.live.watcher import Watcher
from tests.faults.oracle import Database

ROUNDS = "SELECT index, generation, closed, coverage FROM ingest_round WHERE run_id = %s"
SAMPLES = """
SELECT p.series_id, p.time_ns FROM ingest_sample p JOIN ingest_stream s ON s.id = p.stream_id
WHERE s.run_id = %s AND p.time_ns > %s
"""
ENDED = "SELECT extract(epoch FROM ended_at)::bigint * 1000000000 FROM ingest_run WHERE id = %s"
# A picture has the samples of a run's last 20 minutes; older ones are asked for as somebody looks at them.
SAMPLES_NS = 19 * 60 * 10**9
MS = 1_000_000  # frames tell times more coarsely than the database, never by as much


def differences(page: Watcher, database: Database, run: str) -> list[str]:
    """A sentence for each; none where the picture is right. Raises psycopg.OperationalError."""
    state = database.one("SELECT state FROM ingest_run WHERE id = %s", run)
    shown_state = page.meta.get("run", {}).get("state")
    still_open = {attempt: phases for attempt, phases in list(page.open.items()) if phases}
    return [
        *([f"the run is {state} and shown as {shown_state}"] if state != shown_state else []),
        *([f"open after the end: {still_open}"] if still_open else []),
        *_rounds(page, database, run),
        *_samples(page, database, run),
    ]


def _rounds(page: Watcher, database: Database, run: str) -> list[str]:
    stored = {(index, number): (closed, _rough(share)) for index, number, closed, share in database.rows(ROUNDS, run)}
    shown = {key: (bool(row["flags"] & StepFlag.CLOSED), _rough(row["coverage"])) for key, row in _copy(page.steps)}
    wrong = sorted(key for key in stored.keys() | shown.keys() if stored.get(key) != shown.get(key))
    return [f"round {key}: stored {stored.get(key)}, shown {shown.get(key)}" for key in wrong[:3]]


def _samples(page: Watcher, database: Database, run: str) -> list[str]:
    since_ns = database.one(ENDED, run) - SAMPLES_NS
    stored = {(series, time_ns // MS) for series, time_ns in database.rows(SAMPLES, run, since_ns)}
    ours = {series for series, _ in stored}
    shown = {(series, time_ns // MS) for series, time_ns in page.samples.copy() if series in ours}
    hidden = stored - _near(shown)
    invented = {sample for sample in shown if sample[1] * MS > since_ns + MS} - _near(stored)
    return [
        *([f"{len(hidden)} of {len(stored)} samples are not shown"] if hidden else []),
        *([f"{len(invented)} samples are shown and not stored"] if invented else []),
    ]


def _near(samples: set[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(series, at + by) for series, at in samples for by in (-1, 0, 1)}


def _rough(share: float | None) -> float | None:
    """A share as a frame tells it: 32 bits, NaN for none."""
    return None if share is None or math.isnan(share) else round(share, 4)


def _copy(steps: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return list(steps.items())
