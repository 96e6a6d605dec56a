"""Finding runs by values of their configuration: "lr < 1e-3", "optimizer.name = adamw"."""

import math
import re
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from ingest.models import Run, Setting
from ingest.models.settings import MOST_CHARS

MOST = 8  # comparisons at a time
_FEW = 2_000
_ONE = re.compile(
    r"\s*(?:config\.)?(?P<path>[^\s<>=!]+)\s*(?P<sign><=|>=|!=|==?|<|>)\s*(?P<value>\"[^\"]*\"|[^<>=!]+?)\s*"
)
_AND = re.compile(r"\s+and\s+|\s*,\s*(?=[^\s,<>=!]+\s*[<>=!])", re.IGNORECASE)
_LOOKUPS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A setting's `path`, one of < <= > >= = != and what it is compared with; `number` where that is one."""

    path: str
    sign: str
    text: str
    number: float | None

    def __str__(self) -> str:
        return f"config.{self.path} {self.sign} {self.text}"


def comparisons(text: str) -> list[Comparison]:
    """The comparisons in a text, which `and` or a comma sets apart; raises ValueError in a sentence for people."""
    parts = [part for part in _AND.split(text) if part.strip()]
    if len(parts) > MOST:
        raise ValueError(f"At most {MOST} values of the configuration can be asked for at a time.")
    return [_comparison(part) for part in parts]


def _comparison(text: str) -> Comparison:
    found = _ONE.fullmatch(text)
    if found is None:
        raise ValueError(f"“{text.strip()[:80]}” is not understood: write a setting, a sign and a value, as lr < 1e-3.")
    quoted = found["value"].startswith('"')
    value = found["value"].strip('"') if quoted else found["value"].strip()
    sign, number = found["sign"].replace("==", "="), None if quoted else _number(value)
    if sign in _LOOKUPS and number is None:
        raise ValueError(f"“{value[:80]}” is no number, and {sign} compares numbers.")
    return Comparison(found["path"][:MOST_CHARS], sign, value[:MOST_CHARS], number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def configured(runs: QuerySet[Run], team_id: UUID, wanted: Comparison) -> QuerySet[Run]:
    """Return the team's runs that have this setting with such a value; those without it match nothing, != included."""
    those = Setting.objects.filter(_compared(wanted), team_id=team_id, path=wanted.path)
    # Postgres knows what values there are, but not of which setting: few are looked up first, lest it look at all runs.
    few = list(those.values_list("run_id", flat=True)[: _FEW + 1])
    if len(few) <= _FEW:
        return runs.filter(pk__in=few)
    return runs.filter(Exists(those.filter(run=OuterRef("pk"))))


def _compared(wanted: Comparison) -> Q:
    if wanted.sign in _LOOKUPS:
        return Q(**{f"number__{_LOOKUPS[wanted.sign]}": wanted.number})
    same = Q(text=wanted.text) if wanted.number is None else Q(text=wanted.text) | Q(number=wanted.number)
    if wanted.sign == "=":
        return same
    # A value that is no number has none to differ by.
    differs = Q(number=None) | ~Q(number=wanted.number) if wanted.number is not None else Q()
    return ~Q(text=wanted.text) & differs
