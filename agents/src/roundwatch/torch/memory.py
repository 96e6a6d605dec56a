"""A device's memory as torch's own allocator counts it: what tensors held at most, and what it has reserved."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from roundwatch.misuse import describe, tell_once

SELDOM = 2_000  # times as long as a look takes passes before the next one


class DeviceMemory:
    """Looks at counters that the host has: no call of the driver, and nothing is waited for.

    `counters` gives them as torch.cuda.memory_stats_as_nested_dict does. Where that takes 20 us, a step of 40 ms and
    more is always looked at, of shorter ones some. Torch's maximum is never reset: the training may read it too.
    """

    def __init__(self, counters: Callable[[], Mapping[str, Any]]) -> None:
        self._counters = counters
        self._again_ns = 0

    def read(self) -> tuple[int, int] | None:
        """(bytes that tensors held at most, so far; bytes reserved now), None where it is not time or not known."""
        began = time.monotonic_ns()
        if began < self._again_ns:
            return None
        try:
            counters = self._counters()
            found = int(counters["allocated_bytes"]["all"]["peak"]), int(counters["reserved_bytes"]["all"]["current"])
        except Exception as error:  # noqa: BLE001 - another allocator; the training goes on
            self._again_ns = 1 << 62
            tell_once(f"this torch does not tell what a device's memory holds: {describe(error)}")
            return None
        now = time.monotonic_ns()
        self._again_ns = now + SELDOM * (now - began)
        return found


def of_device(device: Any) -> DeviceMemory:
    """The memory of a device of torch."""
    nested: Any = torch.cuda.memory_stats_as_nested_dict
    return DeviceMemory(lambda: nested(device))
