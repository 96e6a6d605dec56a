"""The conditions of a run as people read them: what differs between its hosts first, then what all share."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.runs import facts
from dashboard.teams.access import run_for
from dashboard.teams.sign_in import signed_in
from ingest.queries import run_words
from ingest.queries.conditions import Told, told

_MOST_NAMES = 12
_MOST_FACTS = 1_000
_MOST_CONFIGURED = 300


@dataclass(frozen=True, slots=True)
class Said:
    """A value and who said it: hosts where all workers of a machine did, else workers; `more` others are not named."""

    value: facts.Value
    who: list[str]
    more: int


@dataclass(frozen=True, slots=True)
class Row:
    """A fact with its values, the commonest first."""

    label: str
    said: list[Said]


@require_safe
@signed_in
def conditions(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show what each host and worker of a run is and was, the differences first."""
    run = run_for(request.user, run_id)
    all_told = told(run) or [Told("", "", "", "", 0, newest=True, facts=run.conditions)]
    now = [each for each in all_told if each.newest]
    rows = compared(now)
    configuration = configured(run.config)
    context = {
        "run": run,
        "words": run_words.of_run(run.pk),
        "workers": len(now) if now[0].worker else 0,
        "machines": len({each.machine for each in now if each.machine}),
        "starved": starved(now),
        "different": [row for row in rows if len(row.said) > 1],
        "shared": [row for row in rows if len(row.said) == 1],
        "changed": changed(all_told),
        "configuration": configuration[:_MOST_CONFIGURED],
        "unlisted": max(0, len(configuration) - _MOST_CONFIGURED),
    }
    return render(request, "runs/conditions.html", context)


def compared(now: Sequence[Told]) -> list[Row]:
    """Each fact that any worker told, in the order of their weight, with who said what; who did not is said too."""
    flat = [facts.flat(each.facts) for each in now]
    names = dict.fromkeys(name for each in flat for name in each)
    rows = []
    for name in sorted(names, key=facts.weight)[:_MOST_FACTS]:
        by_value: dict[str, list[Told]] = {}
        for each, known in zip(now, flat, strict=True):
            by_value.setdefault(facts.text(known, name), []).append(each)
        commonest = sorted(by_value.items(), key=lambda pair: -len(pair[1]))
        rows.append(Row(facts.label(name), [_said(facts.value(name, text), those, now) for text, those in commonest]))
    return rows


def configured(config: dict[str, Any]) -> list[Row]:
    """What the training was set to, by name, nested settings as "optimizer.lr"; every value is text, none a link."""
    known = facts.nested(config)
    return [Row(name, [Said(facts.plain(value), [], 0)]) for name, value in sorted(known.items())]


def starved(now: Sequence[Told]) -> list[Said]:
    """Who sees more CPUs than its quota is worth: software starts a thread for each of them."""
    found: dict[str, list[Told]] = {}
    for each in now:
        quota, seen = each.facts.get("cpu_quota_cpus"), each.facts.get("visible_cpus")
        if isinstance(quota, int | float) and isinstance(seen, int | float) and quota < seen:
            found.setdefault(f"{seen:g} CPUs are seen, and the quota is worth {quota:g}", []).append(each)
    return [_said(facts.Value(text), those, now) for text, those in found.items()]


def changed(all_told: Sequence[Told]) -> list[Row]:
    """What a worker's newest attempt says otherwise than the one before it did."""
    found: dict[tuple[str, str, str], list[Told]] = {}
    for before, after in itertools.pairwise(all_told):
        if before.worker != after.worker or not after.newest:
            continue
        was, is_now = facts.flat(before.facts), facts.flat(after.facts)
        for name in was.keys() | is_now.keys():
            change = facts.text(was, name), facts.text(is_now, name)
            if change[0] != change[1]:
                found.setdefault((name, *change), []).append(after)
    now = [each for each in all_told if each.newest]
    ordered = sorted(found.items(), key=lambda pair: facts.weight(pair[0][0]))[:_MOST_FACTS]
    return [
        Row(facts.label(name), [_said(facts.Value(f"{facts.value(name, was)} → {facts.value(name, new)}"), those, now)])
        for (name, was, new), those in ordered
    ]


def _said(value: facts.Value, those: Sequence[Told], everybody: Iterable[Told]) -> Said:
    whole = {each.machine for each in those} - {""}
    ids = {id(each) for each in those}
    whole -= {each.machine for each in everybody if id(each) not in ids}
    names = dict.fromkeys((each.host or each.machine) if each.machine in whole else each.worker for each in those)
    listed = [name for name in names if name]
    return Said(value, listed[:_MOST_NAMES], max(0, len(listed) - _MOST_NAMES))
