"""Finding runs by words: a run is found by the beginning of any word or part of a word that its `search` holds."""

import re

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from ingest.models import Run

# As ingest_run_words (migration 0011) makes them.
_BLANK = re.compile(r"[\x00-\x20]+")
_BETWEEN = re.compile(r"[\x00-\x2f\x3a-\x60\x7b-\x7f]+")
_MOST_CHARS = 48
_MOST_WORDS = 12
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def words_in(text: str) -> list[str]:
    """The words of a question as they are looked for: "ViT_B 16" is vit-b and 16."""
    parts = (_BETWEEN.sub("-", part.translate(_LOWER)).strip("-") for part in _BLANK.split(text))
    return [part[:_MOST_CHARS] for part in parts if part][:_MOST_WORDS]


def matching(runs: QuerySet[Run], text: str) -> QuerySet[Run]:
    """Return those that hold each of the words in `text` as the beginning of one of theirs, whatever its case.

    Words stand in names, projects, keys, tags, notes, hosts, workers and kinds of findings.
    """
    words = words_in(text)
    if not words:
        return runs.none()
    # Letters, digits and hyphens in quotes: nothing of it means anything to to_tsquery.
    wanted = " & ".join(f"'{word}':*" for word in words)
    return runs.filter(RawSQL("ingest_run.search @@ %s::tsquery", [wanted], BooleanField()))
