"""What a run's rounds and workers are called, by what is known of it now."""

from uuid import UUID

from ingest.detection.data_parallel import words_of
from ingest.detection.wording import Words
from ingest.models import PhaseName, Worker


def of_run(run_id: UUID) -> Words:
    """The run's words; those of rounds where nothing is known of it."""
    roles = set(Worker.objects.filter(run=run_id).order_by().values_list("role", flat=True).distinct())
    return words_of(roles, PhaseName.objects.filter(run=run_id).values_list("name", "kind"))
