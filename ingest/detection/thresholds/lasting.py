"""The thresholds of what lasts over windows that may be set: work on the path, imbalance, utilisation, training."""

from functools import partial

from ingest.detection import imbalance, training_health, utilisation_trap, work_on_path
from ingest.detection.thresholds.listing import threshold
from ingest.detection.thresholds.threshold import Subject

_path = partial(threshold, "work_on_path", work_on_path.DEFAULT, kinds=(work_on_path.KIND,))
_imbalance = partial(threshold, "imbalance", imbalance.DEFAULT, kinds=(imbalance.KIND,))
_trap = partial(threshold, "utilisation_trap", utilisation_trap.DEFAULT, kinds=(utilisation_trap.KIND,))
_health = partial(threshold, "training_health", training_health.DEFAULT, kinds=(training_health.KIND,))

WORK_ON_PATH = Subject(
    "work_on_path", "Work on the critical path",
    "What everybody waits for though it computes nothing. It is listed as information and never alerted.",
    (
        _path("share", "Share of the time",
              "A phase is listed when the critical path spends at least this share of the wall time in it, over the "
              "last 20 windows. A window is one round, or several short ones.", unit="%", bounds=(0.5, 100),
              scale=0.01),
    ),
)  # fmt: skip
IMBALANCE = Subject(
    "imbalance", "Imbalance between cohorts",
    "Workers of one sort that always take longer than those of another: another stage, site or device model. It is "
    "listed as information and never alerted.",
    (
        _imbalance("ratio", "Ratio",
                   "A window shows imbalance when the median of the slower cohort is at least this many times that of "
                   "the faster one. A window is one round, or several short ones.", unit="×", bounds=(1.05, 20)),
        _imbalance("least_share", "Share of the round",
                   "A window shows imbalance only when the medians differ by at least this share of the round.",
                   unit="%", bounds=(0.1, 50), scale=0.01),
        _imbalance("standing", "Windows that show it",
                   "Imbalance is listed when at least this share of the windows looked at show it.", unit="%",
                   bounds=(50, 100), scale=0.01),
    ),
)  # fmt: skip
UTILISATION_TRAP = Subject(
    "utilisation_trap", "Busy devices that compute little",
    "A device that seems busy while much of the step is input, exposed transfer and wait, or little is computed. "
    "Exposed is a transfer while the worker computes nothing.",
    (
        _trap("busy", "Seems busy from", "A device seems busy when its utilisation is at least this.", unit="%",
              bounds=(10, 100), scale=0.01),
        _trap("lost", "Time lost from",
              "A busy device is reported when input, exposed transfer and wait take more than this share of the step.",
              unit="%", bounds=(1, 99), scale=0.01),
        _trap("useful", "Useful work below",
              "A busy device is also reported when its model FLOPs utilisation (MFU) is below this share of the best "
              "that the run has sustained.", unit="%", bounds=(1, 100), scale=0.01),
        _trap("windows", "Windows in a row",
              "A device is reported when it was so in this many windows in a row. A window is one round, or several "
              "short ones.", unit="windows", bounds=(1, 6)),
    ),
)  # fmt: skip
TRAINING_HEALTH = Subject(
    "training_health", "Training that goes wrong", "A loss or gradient norm that is not finite, or explodes.",
    (
        _health("times", "Gradient norm explodes from",
                "A gradient norm explodes when it is more than this many times the median of the last 50 values before "
                "it that did not.", unit="×", bounds=(1.5, 100_000)),
    ),
)  # fmt: skip
