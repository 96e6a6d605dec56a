"""How long steps take; nothing of ours is imported here, so that a training without the SDK can be timed alike."""

import time
from collections.abc import Callable

STEP_S = 0.010


def timed(step: Callable[[], None], count: int, clock: Callable[[], int] = time.perf_counter_ns) -> list[int]:
    """Nanoseconds that each of so many steps took."""
    found = []
    for _ in range(count):
        began = clock()
        step()
        found.append(clock() - began)
    return found
