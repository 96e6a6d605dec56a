"""What a shorter retention takes away: counted before anybody decides."""

import datetime as dt
from uuid import UUID

from ingest.models import Run


def runs_with_days_before(team: UUID, day: dt.date) -> int:
    """How many of the team's runs brought records before `day` (UTC), some or all of which are still there."""
    return Run.objects.filter(team=team, first_day__lt=day).count()


def runs_last_heard_before(team: UUID, day: dt.date) -> int:
    """How many of the team's runs were last heard of before `day` (UTC)."""
    midnight = dt.datetime.combine(day, dt.time(), dt.UTC)
    return Run.objects.filter(team=team, heard_at__lt=midnight).count()
