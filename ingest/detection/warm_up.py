"""Which rounds of a run its figures are of: all but those in which it warms up."""

import numpy as np
import numpy.typing as npt

from ingest.detection.facts import Floats, Ints
from ingest.detection.windows import STEP_S, TYPICAL_OF, WARMUP_S, WARMUP_STEPS


def warm(index: Ints, begin_ns: Ints, wall_s: Floats, first: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Whether each round (oldest first) is past the run's first round or, of steps, past its first while.

    `first` is the index and the begin, in Unix nanoseconds, of the run's first round, which need not be among them.
    Of steps both have to pass, as where windows are judged: seconds for the machine, steps for the code.
    """
    if not len(index):
        return np.zeros(0, bool)
    steps = float(np.median(wall_s[-TYPICAL_OF:])) < STEP_S
    first_index, first_ns = first
    past = index - first_index >= (WARMUP_STEPS if steps else 1)
    return past & (begin_ns - first_ns >= WARMUP_S * 1e9) if steps else past
