"""What hangs on runs, counted: for who is asked whether to delete them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ingest.models import Finding, Round, Run, Worker


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of some runs; of phases, samples and events there may be too many to count while somebody waits."""

    running: int
    workers: int
    rounds: int
    findings: int
    notes: int


def counted(run_ids: Sequence[UUID]) -> Counts:
    """Count what goes with these runs."""
    runs = Run.objects.filter(pk__in=run_ids)
    return Counts(
        running=runs.filter(ended_at=None).count(),
        workers=Worker.objects.filter(run__in=run_ids).count(),
        rounds=Round.objects.filter(run__in=run_ids).count(),
        findings=Finding.objects.filter(run__in=run_ids).count(),
        notes=runs.exclude(notes="").count(),
    )
