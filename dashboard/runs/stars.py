"""A person's stars."""

from collections.abc import Iterable
from uuid import UUID

from dashboard.runs.models import Star
from dashboard.teams.access import Visitor, key_of


def of(user: Visitor, run_ids: Iterable[UUID]) -> set[UUID]:
    """Which of these runs the person has starred."""
    return set(Star.objects.filter(user_id=key_of(user), run_id__in=list(run_ids)).values_list("run_id", flat=True))


def put(user: Visitor, run_ids: Iterable[UUID]) -> None:
    """Star runs that the person may see; those that are starred stay so."""
    Star.objects.bulk_create([Star(user_id=key_of(user), run_id=key) for key in run_ids], ignore_conflicts=True)


def take(user: Visitor, run_ids: Iterable[UUID]) -> None:
    """Take the person's stars from these runs."""
    Star.objects.filter(user_id=key_of(user), run_id__in=list(run_ids)).delete()
