"""What detection computed of a round, written beside it: its figures, what could be seen, and of which data."""

from collections.abc import Sequence
from dataclasses import asdict
from uuid import UUID

from django.db.models import F, Q

from ingest.detection.summary import RoundFigures
from ingest.detection.verdicts import Sight
from ingest.models import Round


def save(round_id: int, figures: RoundFigures, version: int) -> None:
    """Store a round's figures as judged from data of `version`; an older judgement never replaces a newer
    one.
    """
    Round.objects.filter(pk=round_id, verdict_version__lte=version).update(
        coverage=figures.coverage,
        gpu_waiting_share=figures.gpu_waiting_share,
        kind_seconds=figures.kind_seconds and list(figures.kind_seconds),
        verdict_version=version,
    )


def save_sights(run_id: UUID, indexes: Sequence[int], sights: Sequence[Sight]) -> None:
    """Store with the newest generation of these rounds what could be seen of each of their phases."""
    newest = Round.objects.filter(run_id=run_id, index__in=indexes).order_by("index", "-generation").distinct("index")
    Round.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
        judged=[asdict(sight) for sight in sights]
    )


def unjudged(limit: int) -> list[tuple[int, int, str, int, int]]:
    """Closed rounds whose data is newer than their verdict: (id, data_version, run, index, generation)."""
    rows = Round.objects.filter(~Q(verdict_version=F("data_version")), closed=True).order_by("pk")[:limit]
    return [(row.pk, row.data_version, str(row.run_id), row.index, row.generation) for row in rows]
