"""Which run a new attempt belongs to: runs may share a key, told apart by when they began."""

import datetime as dt
from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from ingest.models import Run
from ingest.models.runs import RunState
from ingest.store.arrivals import Who

RunKey = tuple[UUID, str, str]  # team, project, key

SILENCE = dt.timedelta(hours=24)
_EARLIEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_SLACK = dt.timedelta(minutes=10)


def runs_for(key: RunKey, attempts: Sequence[Who]) -> list[UUID]:
    """The run of each attempt: the newest of their key that had begun by then; the caller holds the key's lock.

    A key found automatically and silent for a day before the attempt began starts a run of its own.
    """
    team_id, project, name = key
    runs = list(Run.objects.filter(team_id=team_id, project=project, key=name).order_by("-serial"))
    found = []
    for who in attempts:
        run = next((run for run in runs if run.started_at - _SLACK <= who.began_at), runs[-1] if runs else None)
        if run is None or (who.run_found and run is runs[0] and who.began_at > run.heard_at + SILENCE):
            run = _begin(key, runs[0].serial + 1 if runs else 0, who.began_at)
            runs.insert(0, run)
        found.append(run.pk)
    return found


def _begin(key: RunKey, serial: int, began_at: dt.datetime) -> Run:
    now = timezone.now()
    today = now.astimezone(dt.UTC).date()
    team_id, project, name = key
    return Run.objects.create(
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
