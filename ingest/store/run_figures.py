"""The figures of runs: asked for with each verdict, summed up by whoever claims them, and kept."""

import datetime as dt
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from ingest.models import RunFigures
from ingest.models.run_figures import SUMMED

TASK = "ingest.sum_up_run"
_SOON = dt.timedelta(seconds=15)  # a run is summed up no more often
_CLAIMED = dt.timedelta(minutes=5)  # then somebody else may, should who claimed it have died
# What is due sooner, as it is once somebody has claimed it and more of the run has been judged, stays so.
_ASK = """
INSERT INTO ingest_runfigures AS known
    (run_id, due_at, device, devices, trainers, machines, rounds, memory_peak_worker)
SELECT id, %(due)s, '', 0, 0, 0, 0, '' FROM ingest_run WHERE id = %(run)s
ON CONFLICT (run_id) DO UPDATE SET due_at = excluded.due_at
WHERE known.due_at IS NULL OR known.due_at > excluded.due_at
"""


def ask(run_id: UUID) -> None:
    """Have the run summed up soon; asked for again meanwhile, nothing is written."""
    with connection.cursor() as cursor:
        cursor.execute(_ASK, {"run": run_id, "due": timezone.now() + _SOON})


def due(most: int) -> list[UUID]:
    """The runs whose time has come, those that wait for longest first."""
    rows = RunFigures.objects.filter(due_at__lte=Now()).order_by("due_at")
    return list(rows.values_list("pk", flat=True)[:most])


def claim(run_id: UUID) -> dt.datetime | None:
    """Begin to sum up a run whose time has come; None where somebody else does, or nothing is new."""
    until = timezone.now() + _CLAIMED
    claimed = RunFigures.objects.filter(pk=run_id, due_at__lte=Now()).update(due_at=until)
    return until if claimed else None


def save(found: RunFigures) -> None:
    """Keep what was summed up. A peak never falls, and what is no longer kept in detail stays as it was known."""
    row = RunFigures.objects.filter(pk=found.pk).first()
    if row is None:
        return
    told = {name: value for name in SUMMED if (value := getattr(found, name)) is not None}
    if (row.memory_peak_bytes or 0.0) >= told.get("memory_peak_bytes", 0.0):
        told.pop("memory_peak_bytes", None)
        told.pop("memory_peak_worker", None)
    if (row.device_peak_bytes or 0.0) >= told.get("device_peak_bytes", 0.0):
        told.pop("device_peak_bytes", None)
    for name, value in told.items():
        setattr(row, name, value)
    row.summed_at = timezone.now()
    row.save(update_fields=[*told, "summed_at"])


def done(run_id: UUID, claimed: dt.datetime) -> None:
    """Nothing is due any more, unless more of the run was judged since it was claimed."""
    RunFigures.objects.filter(pk=run_id, due_at=claimed).update(due_at=None)
