"""What people choose from when they filter the list of runs."""

from uuid import UUID

from django.db import connection

_MOST_PROJECTS = 500
_LABELLED_RUNS, _MOST_LABELS = 500, 1_000
_PROJECTS = """
WITH RECURSIVE names (project, number) AS (
    (SELECT project, 1 FROM ingest_run WHERE team_id = %(team)s ORDER BY project LIMIT 1)
    UNION ALL
    SELECT (SELECT r.project FROM ingest_run r WHERE r.team_id = %(team)s AND r.project > names.project
            ORDER BY r.project LIMIT 1), number + 1
    FROM names WHERE names.project IS NOT NULL AND number < %(most)s
)
SELECT project FROM names WHERE project IS NOT NULL ORDER BY project
"""
_LABELS = """
SELECT DISTINCT label FROM (
    SELECT labels FROM ingest_run WHERE team_id = %(team)s ORDER BY started_at DESC, id LIMIT %(runs)s
) AS newest CROSS JOIN LATERAL unnest(labels[:100]) AS label LIMIT %(most)s
"""


def projects_of(team_id: UUID) -> list[str]:
    """Return the names of a team's projects, sorted; each costs one look into an index, however many runs it has."""
    with connection.cursor() as cursor:
        cursor.execute(_PROJECTS, {"team": team_id, "most": _MOST_PROJECTS})
        return [name for (name,) in cursor.fetchall()]


def labels_of(team_id: UUID) -> dict[str, list[str]]:
    """Return by sort the labels that the team's newest runs have, sorted: to choose from, not all there are."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, {"team": team_id, "runs": _LABELLED_RUNS, "most": _MOST_LABELS})
        for label in sorted(label for (label,) in cursor.fetchall()):
            sort, _, value = label.partition("=")
            found.setdefault(sort, []).append(value)
    return found
