"""All thresholds that may be set, subject by subject.

The next subject is a file of its own, a line here, and a field of policies.Thresholds that bears its key: by that name
its policy is found.

Bounds are such that no two of them contradict each other, whatever is set: what is at most never lies below what
is at least.
"""

from ingest.detection.thresholds import lasting, memory, regression, slow_phase, straggler
from ingest.detection.thresholds.threshold import Subject, Threshold

SUBJECTS: tuple[Subject, ...] = (
    slow_phase.SUBJECT,
    straggler.SUBJECT,
    memory.SUBJECT,
    lasting.WORK_ON_PATH,
    lasting.IMBALANCE,
    lasting.UTILISATION_TRAP,
    lasting.TRAINING_HEALTH,
    regression.SUBJECT,
)
BY_KEY: dict[str, Threshold] = {one.key: one for subject in SUBJECTS for one in subject.thresholds}
