"""The runs of a project over time: what each came to, and what may be chosen among them."""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from ingest.models import RunFigures

MOST_RUNS = 500  # the newest that match
_MOST_CHOICES = 200
_CHOSEN_OF = 5_000
_LONG = ("run__config", "run__conditions", "run__notes", "run__machines", "run__crew_words")
# What is only worth knowing is no finding of a run, and neither is what was taken back.
_FINDINGS = """
SELECT run_id, count(*), bool_or(kind = 'regression')
FROM ingest_finding WHERE run_id = ANY(%s) AND severity <> 'info' GROUP BY run_id
"""
# Of the newest runs alone: what was used long ago is seldom looked for, and a project may have very many.
_TAGS = """
SELECT DISTINCT tag FROM (
    SELECT tags FROM ingest_run WHERE team_id = %s AND project = %s ORDER BY started_at DESC LIMIT %s
) AS r CROSS JOIN LATERAL jsonb_array_elements_text(
    CASE WHEN jsonb_typeof(r.tags) = 'array' THEN r.tags ELSE '[]' END) AS tag
ORDER BY tag LIMIT %s
"""
_DEVICES = """
SELECT DISTINCT device FROM (
    SELECT f.device FROM ingest_runfigures f JOIN ingest_run r ON r.id = f.run_id
    WHERE r.team_id = %s AND r.project = %s ORDER BY r.started_at DESC LIMIT %s
) AS newest WHERE device <> '' ORDER BY device LIMIT %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Runs of one project; empty or None narrows nothing. Those that began in [begin, end)."""

    project: str
    tag: str = ""
    device: str = ""
    begin: dt.datetime | None = None
    end: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A run's figures (with its run), how many findings it has, and whether one says that it is worse than usual."""

    figures: RunFigures
    findings: int
    worse: bool


def newest_project(team_id: UUID) -> str:
    """The project of the team's run that began last and has figures; empty where none has."""
    rows = RunFigures.objects.filter(run__team=team_id, rounds__gt=0).order_by("-run__started_at", "pk")
    return rows.values_list("run__project", flat=True).first() or ""


def points(team_id: UUID, chosen: Chosen) -> list[Point]:
    """The newest of the team's runs that match and have a judged round, oldest first."""
    rows = RunFigures.objects.select_related("run").filter(run__team=team_id, run__project=chosen.project, rounds__gt=0)
    if chosen.tag:
        rows = rows.filter(run__tags__contains=[chosen.tag])
    if chosen.device:
        rows = rows.filter(device=chosen.device)
    if chosen.begin is not None:
        rows = rows.filter(run__started_at__gte=chosen.begin)
    if chosen.end is not None:
        rows = rows.filter(run__started_at__lt=chosen.end)
    # A run's configuration may be as long as all else on the page.
    rows = rows.defer(*_LONG)
    found = list(rows.order_by("-run__started_at", "pk")[:MOST_RUNS])[::-1]
    with connection.cursor() as cursor:
        cursor.execute(_FINDINGS, [[row.pk for row in found]])
        findings = {run: (count, worse) for run, count, worse in cursor.fetchall()}
    return [Point(row, *findings.get(row.pk, (0, False))) for row in found]


def devices(team_id: UUID, project: str) -> list[str]:
    """The device models that the project's newest runs used, by name."""
    return _names(_DEVICES, team_id, project)


def tags(team_id: UUID, project: str) -> list[str]:
    """The tags of the project's newest runs, by name."""
    return _names(_TAGS, team_id, project)


def _names(statement: str, team_id: UUID, project: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [team_id, project, _CHOSEN_OF, _MOST_CHOICES])
        return [name for (name,) in cursor.fetchall()]
