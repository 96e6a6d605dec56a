"""Whether something new has come from a team's trainings."""

from uuid import UUID

from ingest.models import Stream, Token


def newest(team_id: UUID) -> int:
    """The number of the team's newest stream, 0 where it has none."""
    return Stream.objects.filter(team=team_id).order_by("-pk").values_list("pk", flat=True).first() or 0


def run_after(team_id: UUID, stream: int, *, token: int | None = None) -> UUID | None:
    """The run of the team's first stream after that one; with a token only once that was used. None for none."""
    if token is not None and not Token.objects.filter(pk=token, team=team_id, last_used_at__isnull=False).exists():
        return None
    rows = Stream.objects.filter(team=team_id, pk__gt=stream, run__isnull=False, deleted=False)
    return rows.order_by("pk").values_list("run_id", flat=True).first()
