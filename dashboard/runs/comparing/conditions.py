"""What differs between runs: their conditions, which decide whether they may be compared, and their configuration."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from dashboard.runs import facts
from dashboard.runs.models import Comparable
from ingest.models import Run, Worker
from ingest.queries.conditions import Told, told

# What is so of one attempt alone and decides nothing (roundwatch.conditions.of_attempt).
_OF_ATTEMPT = {"job_submitted_unix_s", "job_start_unix_s", "job_waited_s", "wandb", "mlflow"}
_MOST_FACTS = 400
_MOST_CHARS = 160
NOT_KNOWN = "not known"
# What the workers themselves, and the run, say beside the facts.
_OWN_LABELS = {
    "run workers": "workers", "run machines": "machines", "run sites": "sites", "run model_bytes": "size of the model",
    "run flops_per_item": "FLOPs an item",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """What a run says of a fact; equal ones have equal keys."""

    key: str
    text: str

    @property
    def known(self) -> bool:
        """Whether the run says anything of it."""
        return self.text != NOT_KNOWN


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with its value in each run, in their order; `declared` is the word that its values are comparable."""

    name: str
    label: str
    values: list[Value]
    declared: Comparable | None = None

    @property
    def equal(self) -> bool:
        """Whether all runs say the same."""
        return len({value.key for value in self.values}) == 1

    @property
    def known(self) -> bool:
        """Whether every run says something of it."""
        return all(value.known for value in self.values)

    @property
    def distinct(self) -> list[Value]:
        """Its values, each once."""
        return list({value.key: value for value in self.values}.values())


def conditions_of(runs: Sequence[Run]) -> list[Fact]:
    """Every condition that any of the runs says, by weight."""
    said = [_said(run) for run in runs]
    names = dict.fromkeys(name for each in said for name in each)
    return [Fact(name, _label(name), [_value(name, each.get(name)) for each in said]) for name in _ordered(names)]


def configuration_of(runs: Sequence[Run]) -> list[Fact]:
    """Every setting that any of the runs was given, by name."""
    said = [facts.nested(run.config) for run in runs]
    names = sorted({name for each in said for name in each})[:_MOST_FACTS]
    return [
        Fact(name, name, [
            _keyed(facts.text(each, name), facts.plain(each[name]).text) if name in each else _keyed("", "not set")
            for each in said
        ])
        for name in names
    ]  # fmt: skip


def with_declared(found: Sequence[Fact], declared: Sequence[Comparable]) -> list[Fact]:
    """The same facts; those that differ with the newest word that their values are comparable, where there is one."""
    return [fact if fact.equal else replace(fact, declared=_word(fact, declared)) for fact in found]


def _word(fact: Fact, declared: Sequence[Comparable]) -> Comparable | None:
    wanted = {value.key for value in fact.values}
    for one in declared:
        for condition in one.conditions:
            if condition["name"] == fact.name and wanted <= {value["key"] for value in condition["values"]}:
                return one
    return None


# A fact by role, each with how many workers say it.
_Counts = dict[str, Counter[str]]


def _said(run: Run) -> dict[str, _Counts]:
    now = [each for each in told(run) if each.newest] or [Told("", "", "", "", 0, newest=True, facts=run.conditions)]
    found: dict[str, _Counts] = {}
    flat = [(each.role, facts.flat(each.facts)) for each in now]
    for name in {name for _, known in flat for name in known} - _OF_ATTEMPT:
        counts: _Counts = {}
        for role, known in flat:
            counts.setdefault(role, Counter())[facts.text(known, name)] += 1
        found[name] = counts
    return found | _of_run(run)


def _of_run(run: Run) -> dict[str, _Counts]:
    workers = list(Worker.objects.filter(run=run).values_list("role", "machine", "site"))
    roles = Counter(role for role, _, _ in workers)
    machines = {machine for _, machine, _ in workers if machine}
    sites: _Counts = {}
    for role, _, site in workers:
        if site:
            sites.setdefault(role, Counter())[json.dumps(site, ensure_ascii=False)] += 1
    own: dict[str, Any] = {
        "run workers": ", ".join(f"{count} {role}{'s' if count > 1 else ''}" for role, count in sorted(roles.items())),
        "run machines": len(machines), "run model_bytes": run.model_bytes, "run flops_per_item": run.flops_per_item,
    }  # fmt: skip
    found = {name: {"": Counter([json.dumps(value, ensure_ascii=False)])} for name, value in own.items() if value}
    return found | ({"run sites": sites} if sites else {})


def _value(name: str, counts: _Counts | None) -> Value:
    """Where all workers of a role say the same, how many they are is no part of it."""
    if not counts or all(set(each) == {"null"} for each in counts.values()):
        return _keyed("", NOT_KNOWN)
    said = {role: _alike(each) for role, each in sorted(counts.items())}
    if len({json.dumps(each) for each in said.values()}) == 1:
        said = {"": next(iter(said.values()))}
    parts = [
        (f"{role}s: " if role else "")
        + ", ".join(_words(name, text) + (f" × {count}" if count else "") for text, count in each)
        for role, each in said.items()
    ]
    return _keyed(json.dumps(said, sort_keys=True), "; ".join(parts))


def _alike(each: Counter[str]) -> list[tuple[str, int]]:
    return [(next(iter(each)), 0)] if len(each) == 1 else sorted(each.items())


def _words(name: str, text: str) -> str:
    return str(facts.value(name.removeprefix("run "), text))


def _keyed(identity: str, text: str) -> Value:
    cut = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
    return Value(sha256(identity.encode()).hexdigest()[:32], cut)


def _label(name: str) -> str:
    return _OWN_LABELS.get(name, facts.label(name))


def _ordered(names: dict[str, None]) -> list[str]:
    """What the run is made of first."""
    own = [name for name in _OWN_LABELS if name in names]
    return own + sorted(names.keys() - set(own), key=facts.weight)[:_MOST_FACTS]
