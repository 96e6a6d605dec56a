"""Whether a run is one job of equal ranks, whose rounds are optimizer steps: pages and findings then say so.

The live page decides by the same rule (dashboard/live/static/live/js/words.js); tests/contract/golden/words.json
holds both to it.
"""

from collections.abc import Collection, Iterable

from ingest.detection.collectives import NAMES
from ingest.detection.facts import Kind
from ingest.detection.wording import ROUNDS, STEPS, Words


def words_of(roles: Collection[str], phases: Iterable[tuple[str, int]]) -> Words:
    """The words of a run with workers of these roles and phases of these names and kinds.

    It has trainers and no coordinator, and its phases are those of a step: a collective of all with all, or "step".
    """
    if "trainer" not in roles or "coordinator" in roles:
        return ROUNDS
    return STEPS if any(_is_of_a_step(name, kind) for name, kind in phases) else ROUNDS


def _is_of_a_step(name: str, kind: int) -> bool:
    return (kind == Kind.TRANSFER and name in NAMES) or (kind == Kind.COMPUTE and name == "step")
