"""Which run a new attempt belongs to: runs may share a key, told apart by when they began."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from ingest.models import Run
from ingest.models.runs import RunState
from ingest.store.allowance import Allowance
from ingest.store.arrivals import Who

RunKey = tuple[UUID, str, str]  # team, project, key

SILENCE = dt.timedelta(hours=24)
_EARLIEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_SLACK = dt.timedelta(minutes=10)


_OF_KEYS = """
SELECT r.id, r.team_id, r.project, r.key, r.serial, r.started_at, r.heard_at
FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS v (team_id, project, key)
JOIN ingest_run r USING (team_id, project, key) ORDER BY r.serial DESC
"""
RUNS_A_MINUTE = 240
_allowance = Allowance(RUNS_A_MINUTE)


def runs_for(attempts: Sequence[tuple[RunKey, Who]]) -> list[UUID]:
    """The run of each attempt: the newest of its key that had begun by then; the caller holds the keys' locks.

    A key found automatically and silent for a day before the attempt began starts a run of its own. Raises
    Fault 429 for more new runs than a team may begin in a minute.
    """
    runs: dict[RunKey, list[Run]] = {key: [] for key, _ in attempts}
    for run in Run.objects.raw(_OF_KEYS, [list(column) for column in zip(*runs, strict=True)]) if runs else ():
        runs[run.team_id, run.project, run.key].append(run)
    found, begun = [], []
    for key, who in attempts:
        those = runs[key]
        own = next((run for run in those if run.started_at - _SLACK <= who.began_at), those[-1] if those else None)
        if own is None or (who.run_found and own is those[0] and who.began_at > own.heard_at + SILENCE):
            own = _begun(key, those[0].serial + 1 if those else 0, who.began_at)
            those.insert(0, own)
            begun.append(own)
        found.append(own.pk)
    if begun:
        _allowance.take(Counter(run.team_id for run in begun))
        Run.objects.bulk_create(begun)
    return found


def _begun(key: RunKey, serial: int, began_at: dt.datetime) -> Run:
    now = timezone.now()
    today = now.astimezone(dt.UTC).date()
    team_id, project, name = key
    return Run(
        team_id=team_id,
        project=project,
        key=name,
        serial=serial,
        name=name,
        state=RunState.RUNNING,
        started_at=began_at if _EARLIEST <= began_at <= now + _SLACK else now,
        heard_at=now,
        first_day=today,
        last_day=today,
    )
