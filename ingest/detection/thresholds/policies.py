"""From what a team and a run have set to the policies that judge, and to what a finding says of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ingest.detection.imbalance import DEFAULT as IMBALANCE
from ingest.detection.imbalance import Policy as Imbalance
from ingest.detection.memory import DEFAULT as MEMORY
from ingest.detection.memory import Policy as Memory
from ingest.detection.regression import DEFAULT as REGRESSION
from ingest.detection.regression import Policy as Regression
from ingest.detection.slow_phase import DEFAULT as SLOW_PHASE
from ingest.detection.slow_phase import Policy as SlowPhase
from ingest.detection.straggler import DEFAULT as STRAGGLER
from ingest.detection.straggler import Policy as Straggler
from ingest.detection.thresholds.catalogue import BY_KEY
from ingest.detection.thresholds.threshold import Threshold
from ingest.detection.training_health import DEFAULT as TRAINING_HEALTH
from ingest.detection.training_health import Policy as TrainingHealth
from ingest.detection.utilisation_trap import DEFAULT as UTILISATION_TRAP
from ingest.detection.utilisation_trap import Policy as UtilisationTrap
from ingest.detection.verdicts import Verdict
from ingest.detection.wording import ROUNDS, Words
from ingest.detection.work_on_path import DEFAULT as WORK_ON_PATH
from ingest.detection.work_on_path import Policy as WorkOnPath

Source = Literal["team", "run"]
EVIDENCE = "thresholds"


@dataclass(frozen=True, slots=True)
class Set:
    """A threshold that is not the default: its value in its unit, and whose it is."""

    threshold: Threshold
    value: float
    source: Source

    def told(self, words: Words) -> dict[str, Any]:
        """As a finding says it."""
        one = self.threshold
        said = f"{one.name}: {one.words(self.value)}, set for the {self.source}; the default is {one.words(one.usual)}"
        return {"key": one.key, "value": self.value, "default": one.usual, "unit": one.unit, "set_for": self.source,
                "words": words.said(said)}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The policies that a run is judged by; `set_` are the thresholds that are not the default, told in `words`."""

    straggler: Straggler = STRAGGLER
    slow_phase: SlowPhase = SLOW_PHASE
    memory: Memory = MEMORY
    work_on_path: WorkOnPath = WORK_ON_PATH
    imbalance: Imbalance = IMBALANCE
    utilisation_trap: UtilisationTrap = UTILISATION_TRAP
    training_health: TrainingHealth = TRAINING_HEALTH
    regression: Regression = REGRESSION
    set_: tuple[Set, ...] = ()
    words: Words = ROUNDS

    def said(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """The verdicts, each with those thresholds in its evidence that decide its kind and are not the default."""
        return [self._said(one) for one in verdicts] if self.set_ else list(verdicts)

    def _said(self, verdict: Verdict) -> Verdict:
        told = [one.told(self.words) for one in self.set_ if verdict.kind in one.threshold.kinds]
        return replace(verdict, evidence={**verdict.evidence, EVIDENCE: told}) if told else verdict


DEFAULT = Thresholds()


def of(team: Mapping[str, float], run: Mapping[str, float]) -> Thresholds:
    """The policies that follow from what is set, by key and in the thresholds' units: a run's before its team's.

    What no threshold allows (any more) counts as not set.
    """
    found: list[Set] = []
    for key, threshold in BY_KEY.items():
        for source, values in _sources(team, run):
            value = values.get(key)
            if value is not None and threshold.allows(value):
                found.append(Set(threshold, value, source))
                break
    differing = tuple(one for one in found if one.value != one.threshold.usual)
    if not differing:
        return DEFAULT
    changed: dict[str, dict[str, Any]] = {}
    for one in differing:
        changed.setdefault(one.threshold.subject, {})[one.threshold.field] = one.threshold.in_policy(one.value)
    policies = {subject: replace(getattr(DEFAULT, subject), **fields) for subject, fields in changed.items()}
    return replace(DEFAULT, **policies, set_=differing)


def _sources(team: Mapping[str, float], run: Mapping[str, float]) -> tuple[tuple[Source, Mapping[str, float]], ...]:
    return ("run", run), ("team", team)
