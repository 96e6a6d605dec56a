"""How long a step's buckets travelled, and how much of that the backward pass hid: DDP's own measurements."""

import time
from typing import Any
from weakref import ref

from roundwatch.misuse import describe, tell_once

TRAVELLED, HIDDEN = "backward_comm_time", "backward_compute_comm_overlap_time"
MEASURED_AT = "backward_comm_time_start"
UNTOLD = -1, -1
SHORT_NS, SOME = 50_000_000, 16


class Overlap:
    """Reads DDP's logging data, a prototype of torch: where it is missing or says nothing, nothing is told."""

    def __init__(self, model: Any, *, on_device: bool) -> None:
        self._model = ref(model)  # its logger, too, would keep the parameters
        self._told_by_ddp = False
        self._passed = self._turn = 0
        self._often = False  # whether steps are so many that only some are measured
        # For a device DDP takes these times by waiting for it, in the step, so it is not asked to.
        if not on_device:
            try:
                self._measure_one_in(1)
                self._told_by_ddp = model.logger is not None
            except Exception as error:  # noqa: BLE001 - another torch; the training goes on
                self._give_up(error)

    def read(self, since_ns: int) -> tuple[int, int]:
        """Of the backward pass that has just ended, in nanoseconds: how long its buckets travelled, and how much of
        that it hid; -1 for both where nothing is told.

        It began at `since_ns` of the monotonic clock: of short ones, which this would slow down, only some are told.
        """
        self._passed += 1
        if not self._told_by_ddp:
            return UNTOLD
        short = time.monotonic_ns() - since_ns < SHORT_NS
        if short and self._often and self._passed % SOME != self._turn:
            return UNTOLD
        try:
            if short is not self._often:
                self._often = short
                self._measure_one_in(SOME if short else 1)
            return self._told(since_ns)
        except Exception as error:  # noqa: BLE001 - another torch; the training goes on
            self._give_up(error)
            return UNTOLD

    def _measure_one_in(self, steps: int) -> None:
        model: Any = self._model()
        model._set_ddp_runtime_logging_sample_rate(steps)  # noqa: SLF001 - the only door to it

    def _told(self, since_ns: int) -> tuple[int, int]:
        model: Any = self._model()
        model.logger.set_runtime_stats_and_log()
        data = model.logger._get_ddp_logging_data().ints_map  # noqa: SLF001 - the only door to it
        now, at = time.monotonic_ns(), data.get(MEASURED_AT, 0)
        # What DDP says last may be of a pass long before; its clock has been one and the other.
        if since_ns <= at <= now or since_ns <= at - (time.time_ns() - now) <= now:
            return data.get(TRAVELLED, -1), data.get(HIDDEN, -1)
        self._turn = (self._passed + 1) % SOME  # which of them DDP measures is found by trying
        return UNTOLD

    def _give_up(self, error: Exception) -> None:
        self._told_by_ddp = False
        tell_once(f"this torch does not tell how DDP's buckets overlap with the backward pass: {describe(error)}")
