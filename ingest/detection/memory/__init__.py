"""Memory that is not given back: growth over rounds, retained after the end, held until the cyclic collector; peaks."""

from ingest.detection.memory.context import RoundMemory, rounds_of
from ingest.detection.memory.facts import Collected, Held, Kept, Span
from ingest.detection.memory.judge import CYCLE, GROWTH, RETAINED, MemoryJudgement, judge, together
from ingest.detection.memory.policy import DEFAULT, Policy

__all__ = [
    "CYCLE",
    "DEFAULT",
    "GROWTH",
    "RETAINED",
    "Collected",
    "Held",
    "Kept",
    "MemoryJudgement",
    "Policy",
    "RoundMemory",
    "Span",
    "judge",
    "rounds_of",
    "together",
]
