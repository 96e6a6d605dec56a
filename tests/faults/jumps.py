"""Somebody sets a wall clock an hour ahead or back, and later right again."""

import random
import time
from collections.abc import Callable

from tests.faults.clocks import HOUR_S
from tests.faults.stage import Stage

Times = dict[str, float]
SETTLING_S = 30.0


def jumped(side: str) -> Callable[[Stage, random.Random], Times]:
    """The fault that sets the clocks of the server's machine (`clock`) or of the trainings' host (`host_clock`)."""

    def fault(stage: Stage, rng: random.Random) -> Times:
        clock = getattr(stage, side)
        clock.set_ahead(rng.choice((-HOUR_S, HOUR_S)))
        time.sleep(rng.uniform(1, 4))  # this is the fault itself
        # While it is wrong, all goes on as well.
        for one in stage.running():
            one.await_stored(one.returned(), SETTLING_S)
            one.await_shown(SETTLING_S)
        clock.set_ahead(0)
        healed, newest = time.monotonic(), {one: one.newest_round() for one in stage.running()}
        return {"judged": max(one.await_all_judged(index - 1) for one, index in newest.items()) - healed}

    return fault
