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
    "work_on_path", "Work on the critical path", "What everybody waits for though it computes nothing; never alerted.",
    (
        _path("share", "Share of the time", "From this share of the last rounds' wall time on it is listed.", unit="%",
              bounds=(0.5, 100), scale=0.01),
    ),
)  # fmt: skip
IMBALANCE = Subject(
    "imbalance", "Imbalance between cohorts", "Workers of one sort that always take longer than those of another.",
    (
        _imbalance("ratio", "Ratio", "Of the slower cohort's median to the faster one's.", unit="×", bounds=(1.05, 20)),
        _imbalance("least_share", "Share of the round", "A smaller difference does not matter.", unit="%",
                   bounds=(0.1, 50), scale=0.01),
        _imbalance("standing", "Windows that show it", "Of those looked at.", unit="%", bounds=(50, 100), scale=0.01),
    ),
)  # fmt: skip
UTILISATION_TRAP = Subject(
    "utilisation_trap", "Busy devices that compute little",
    "A device that seems busy while much of the step is input, exposed transfer and wait.",
    (
        _trap("busy", "Seems busy from", "Utilisation of the device.", unit="%", bounds=(10, 100), scale=0.01),
        _trap("lost", "Time lost from", "Share of the step in input, exposed transfer and wait.", unit="%",
              bounds=(1, 99), scale=0.01),
        _trap("useful", "Useful work below", "Share of the run's own best sustained MFU.", unit="%", bounds=(1, 100),
              scale=0.01),
        _trap("windows", "Windows in a row", "In so many windows in a row.", unit="windows", bounds=(1, 6)),
    ),
)  # fmt: skip
TRAINING_HEALTH = Subject(
    "training_health", "Training that goes wrong", "A loss or gradient norm that is not finite, or explodes.",
    (
        _health("times", "Gradient norm explodes from", "So many times the median of its last 50.", unit="×",
                bounds=(1.5, 100_000)),
    ),
)  # fmt: skip
