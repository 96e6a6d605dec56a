"""Memory that is not given back: growth over rounds, retained after the end, held until the cyclic collector; peaks."""

from ingest.detection.memory.context import RoundMemory, rounds_of
from ingest.detection.memory.facts import Collected, Held, Span
from ingest.detection.memory.judge import MemoryJudgement, judge, together
from ingest.detection.memory.policy import DEFAULT, Policy

__all__ = [
    "DEFAULT",
    "Collected",
    "Held",
    "MemoryJudgement",
    "Policy",
    "RoundMemory",
    "Span",
    "judge",
    "rounds_of",
    "together",
]
