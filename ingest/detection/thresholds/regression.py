"""The thresholds of a regression that may be set."""

from functools import partial

from ingest.detection.regression import DEFAULT, KIND
from ingest.detection.regression.policy import MIB
from ingest.detection.thresholds.listing import threshold
from ingest.detection.thresholds.threshold import Subject

_one = partial(threshold, "regression", DEFAULT, kinds=(KIND,))

SUBJECT = Subject(
    "regression", "Worse than earlier runs",
    "A run whose rounds take longer, whose GPUs wait for more of the round or whose memory peaks higher than in the "
    "runs of its project before it that had as many devices of the same model. The usual is the median of the newest "
    "ten of them, and a run must be worse than each.",
    (
        _one("ratio", "Ratio to the usual",
             "Round time and memory are reported when they are at least this many times the usual.", unit="×",
             bounds=(1.05, 20)),
        _one("least_share", "GPU waiting above the usual",
             "GPU waiting is reported when at least this much more of the round is waited than usual.", unit="% points",
             bounds=(1, 90), scale=0.01),
        _one("least_bytes", "Memory above the usual",
             "Memory is reported only when its peak is at least this far above the usual.", unit="MiB",
             bounds=(1, 1_000_000), scale=MIB),
        _one("z", "Distance from what is usual",
             "A run must be worse than the usual by at least this many standard deviations of the runs before it.",
             unit="σ", bounds=(2, 20)),
        _one("least_runs", "Runs that are needed",
             "Nothing is reported while fewer comparable runs than this are known.", unit="runs", bounds=(2, 10)),
        _one("least_rounds", "Rounds that are needed",
             "A run with fewer judged rounds than this is neither judged nor compared with; its first is left out.",
             unit="rounds", bounds=(2, 1000)),
    ),
)  # fmt: skip
