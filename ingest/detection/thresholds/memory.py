"""The thresholds of memory that may be set. A copy is the model's bytes."""

from functools import partial

from ingest.detection.memory import CYCLE, DEFAULT, GROWTH, RETAINED
from ingest.detection.memory.policy import MIB
from ingest.detection.thresholds.listing import threshold
from ingest.detection.thresholds.threshold import Subject

_one = partial(threshold, "memory", DEFAULT)
_GROWS = (GROWTH,)

SUBJECT = Subject(
    "memory", "Memory that is not given back",
    "Memory that grows from round to round, stays after the end, or is freed by the cyclic collector alone. One copy "
    "is as many bytes as the model has. A round's floor is the lowest reading between its end and the next round's "
    "begin.",
    (
        _one("slope_copies", "Growth a round, copies",
             "Growth is reported when the floor grows by at least this many copies a round over the last 8 rounds, or "
             "by 8/50 of that over the last 50.", unit="copies", bounds=(0.001, 100), kinds=_GROWS),
        _one("slope_least_bytes", "Growth a round, at least",
             "The floor must also grow by at least this much a round over the last 8 rounds, or by 8/50 of that over "
             "the last 50, however small the model.", unit="MiB", bounds=(0.1, 1_000_000), kinds=_GROWS, scale=MIB),
        _one("total_copies", "Growth in all, copies",
             "The last floor of these rounds must be at least this many copies above the first.",
             unit="copies", bounds=(0.01, 100), kinds=_GROWS),
        _one("total_unknown_bytes", "Growth in all, model unknown",
             "Where the model's size is not known, the last floor must be at least this far above the first. A "
             "collection must then free as much to be called a reference cycle.", unit="MiB",
             bounds=(1, 1_000_000), kinds=(GROWTH, CYCLE), scale=MIB),
        _one("tau", "Steadiness",
             "Mann-Kendall's tau of the floors must be at least this. It is 1 where each floor is above all before "
             "it, and about 0 where they go up and down.", unit="", bounds=(0.3, 1), kinds=_GROWS),
        _one("horizon_s", "Limit reached within",
             "Where neither the model's size nor a planned end of the run is known, growth is reported only if the "
             "memory limit would be reached within this time.", unit="h", bounds=(0.1, 720), kinds=_GROWS,
             scale=3600.0),
        _one("critical_rounds", "Critical, rounds",
             "Growth is critical when it would reach the memory limit within this many rounds.", unit="rounds",
             bounds=(1, 10_000), kinds=_GROWS),
        _one("critical_s", "Critical, time", "Growth is also critical when it would reach the limit within this time.",
             unit="min", bounds=(0.1, 10_080), kinds=_GROWS, scale=60.0),
        _one("critical_share", "Critical, share of the limit",
             "Growth is also critical when the highest reading of the newest round is at least this share of the "
             "limit.", unit="%", bounds=(10, 100), kinds=_GROWS, scale=0.01),
        _one("retained_copies", "Retained after the end",
             "Memory is called retained when it stays more than this many copies above the floor after the first "
             "round, for the time that follows.", unit="copies", bounds=(0.05, 100), kinds=(RETAINED,)),
        _one("retained_s", "Retained for",
             "Memory is called retained only after it has stayed there for this long after the end of the training. A "
             "process is read for 60 s after it.", unit="s", bounds=(5, 60), kinds=(RETAINED,)),
        _one("fall_copies", "Freed by a collection",
             "A reference cycle is reported when full collections free at least this many copies at once.",
             unit="copies", bounds=(0.01, 100), kinds=(CYCLE,)),
    ),
)  # fmt: skip
