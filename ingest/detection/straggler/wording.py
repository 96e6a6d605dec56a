"""What a straggler verdict says in words: figures with units, nothing that was not measured."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ingest.detection.facts import Floats
from ingest.detection.wording import Words, duration

if TYPE_CHECKING:
    from ingest.detection.straggler.incident import Part

_NAMED = 4  # so many workers are named with their seconds; of more, the range is told


def observed(phase: str, parts: "Sequence[Part]", words: Words, *, lasting: bool) -> str:
    """One sentence for each cohort: who took how long, and what it is compared with."""
    return " ".join(_sentence(phase, part, words, lasting=lasting) for part in parts)


def _sentence(phase: str, part: "Part", words: Words, *, lasting: bool) -> str:
    context, at = part.context, part.latest
    columns = [column for column in part.columns if part.hits[at, column]] or list(part.columns)
    seconds = context.cohort.seconds[at]
    who = _who([context.cohort.workers[column].name for column in columns], seconds[columns], words)
    often = f" (slow in {int(part.hits.any(axis=1).sum())} of the last {words.round}s)" if lasting else ""
    if context.by_itself[at, columns].all():
        usual = float(np.median(context.rows[at].reference[columns]))
        whose = "its own" if len(columns) == 1 else "their own"
        return f"{phase} took {who}{often}; {whose} usual is {duration(usual)}."
    rest = [column for column in range(len(seconds)) if column not in columns and np.isfinite(seconds[column])]
    return f"{phase} took {who}{often}; {_others(seconds[rest])}."


def _who(names: Sequence[str], seconds: Floats, words: Words) -> str:
    if len(names) <= _NAMED:
        told = [f"{duration(each)} on {name}" for name, each in zip(names, seconds.tolist(), strict=True)]
        return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))
    return f"{_range(seconds)} on {len(names)} {words.worker}s"


def _others(seconds: Floats) -> str:
    if len(seconds) == 1:
        return f"the other one took {duration(float(seconds[0]))}"
    return f"the other {len(seconds)} took {_range(seconds)} (median {duration(float(np.median(seconds)))})"


def _range(seconds: Floats) -> str:
    least, most = duration(float(seconds.min())), duration(float(seconds.max()))
    return least if least == most else f"{least} to {most}"
