"""One threshold of a policy as people set it: its name, meaning, unit, default and bounds."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A number of a policy; `field` is its name there.

    `usual`, `least` and `most` are in `unit`, of which one is `scale` of the policy's own. `kinds` are those of the
    findings that it decides. A `whole` one is a number of things.
    """

    subject: str
    field: str
    name: str
    meaning: str
    unit: str
    usual: float
    least: float
    most: float
    kinds: tuple[str, ...]
    scale: float = 1.0
    whole: bool = False

    @property
    def key(self) -> str:
        """How it is kept: subject and field."""
        return f"{self.subject}.{self.field}"

    def allows(self, value: float) -> bool:
        """Whether a value (in `unit`) is within the bounds."""
        return math.isfinite(value) and self.least <= value <= self.most and (not self.whole or value == int(value))

    def in_policy(self, value: float) -> float:
        """A value (in `unit`) as the policy has it."""
        return int(value) if self.whole else value * self.scale

    def words(self, value: float) -> str:
        """A value with its unit: 1.5 ×, 5 %, 30 s."""
        return f"{value:.10g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Subject:
    """The thresholds of one policy; `about` says what it finds."""

    key: str
    name: str
    about: str
    thresholds: tuple[Threshold, ...]
