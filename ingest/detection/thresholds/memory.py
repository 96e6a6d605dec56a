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
    "Memory that grows from round to round, stays after the end, or is freed by the cyclic collector alone.",
    (
        _one("slope_copies", "Growth a round, copies", "Floors must grow by at least so many model copies a round.",
             unit="copies", bounds=(0.001, 100), kinds=_GROWS),
        _one("slope_least_bytes", "Growth a round, at least", "And by at least so much, however small the model.",
             unit="MiB", bounds=(0.1, 1_000_000), kinds=_GROWS, scale=MIB),
        _one("total_copies", "Growth in all, copies", "And by so many model copies over the rounds looked at.",
             unit="copies", bounds=(0.01, 100), kinds=_GROWS),
        _one("total_unknown_bytes", "Growth in all, model unknown",
             "The same where the model's bytes are not known; as much a collection must free there.", unit="MiB",
             bounds=(1, 1_000_000), kinds=(GROWTH, CYCLE), scale=MIB),
        _one("tau", "Steadiness", "Mann-Kendall's tau of the floors: 1 where each is above the one before.", unit="",
             bounds=(0.3, 1), kinds=_GROWS),
        _one("horizon_s", "Limit reached within",
             "Where the model's bytes are not known and no end is planned, the limit must be reached so soon.",
             unit="h", bounds=(0.1, 720), kinds=_GROWS, scale=3600.0),
        _one("critical_rounds", "Critical, rounds", "Growth is critical where the limit is reached in so many rounds.",
             unit="rounds", bounds=(1, 10_000), kinds=_GROWS),
        _one("critical_s", "Critical, time", "Or within this time.", unit="min", bounds=(0.1, 10_080), kinds=_GROWS,
             scale=60.0),
        _one("critical_share", "Critical, share of the limit", "Or where the peak is above this share of the limit.",
             unit="%", bounds=(10, 100), kinds=_GROWS, scale=0.01),
        _one("retained_copies", "Retained after the end",
             "So many model copies above the floor after the first round are retained.", unit="copies",
             bounds=(0.05, 100), kinds=(RETAINED,)),
        _one("retained_s", "Retained for", "For so long after the end; a process is read for 60 s after it.", unit="s",
             bounds=(5, 60), kinds=(RETAINED,)),
        _one("fall_copies", "Freed by a collection", "So many model copies freed at once say “reference cycle”.",
             unit="copies", bounds=(0.01, 100), kinds=(CYCLE,)),
    ),
)  # fmt: skip
