"""What is concluded of one round by itself, written beside it."""

import json
from typing import Any

from django.db import connection

from ingest.models import Analysis

# The newest data counts, whoever comes last; a round that is gone meanwhile needs none.
_SAVE = """
INSERT INTO ingest_analysis (round_id, version, content) SELECT id, %s, %s::jsonb FROM ingest_round WHERE id = %s
ON CONFLICT (round_id) DO UPDATE SET version = excluded.version, content = excluded.content
WHERE ingest_analysis.version <= excluded.version
"""


def save(round_id: int, version: int, content: dict[str, Any]) -> None:
    """Store the analysis of a round as of its data of `version`; one of newer data stays."""
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, [version, json.dumps(content), round_id])


def forget(round_id: int) -> None:
    """Have the round analysed anew by whoever asks for it next."""
    Analysis.objects.filter(pk=round_id).delete()
