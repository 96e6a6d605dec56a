"""Several samplers as one: what one of them trips over is told, and the others go on."""

import logging
import threading
import time
from collections.abc import Iterable, Mapping

from roundwatch.samplers.base import Reading, Sampler, Waiting, reason
from roundwatch.samplers.rates import Clock
from roundwatch.samplers.steady import Steadied

logger = logging.getLogger("roundwatch")
# Of the time: what costs a process or the kernel more is read more seldom.
SHARE = 0.001


class Together:
    """Reads each in its turn; with `steadied`, what is steady is told when it changes. `read` never raises."""

    def __init__(self, samplers: Iterable[Sampler], *, steadied: bool = True) -> None:
        self.samplers = list(samplers)
        self._dues = [sampler.due for sampler in self.samplers if isinstance(sampler, Waiting)]
        self.name = self.samplers[0].name
        self._failed: dict[str, str] = {}
        self._steadied = Steadied() if steadied else None

    def due(self) -> bool:
        """Whether one of them is worth to be read now."""
        asked = [due() for due in self._dues]
        return len(asked) < len(self.samplers) or any(asked)

    @property
    def absent(self) -> Mapping[str, str]:
        reasons = dict(self._failed)
        for sampler in self.samplers:
            reasons.update(sampler.absent)
        return reasons

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        for sampler in self.samplers:
            try:
                readings += sampler.read()
                self._failed.pop(sampler.name, None)
            except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
                why = reason(error)
                if self._failed.get(sampler.name) != why:
                    logger.warning("sampling: %s failed: %s", sampler.name, why)
                self._failed[sampler.name] = why
        return readings if self._steadied is None else self._steadied.new(readings)


class Seldom:
    """A sampler that takes long: read by a passing thread every `period_s`, or more seldom where it takes longer yet.

    `read` starts that thread when it is due, and gives what the last one found, once.
    """

    def __init__(self, sampler: Sampler, period_s: float, clock: Clock = time.monotonic) -> None:
        self.name = sampler.name
        self._sampler, self._period_s, self._clock = sampler, period_s, clock
        self._due = clock()
        self._found: list[Reading] = []
        self._thread: threading.Thread | None = None

    @property
    def absent(self) -> Mapping[str, str]:
        return self._sampler.absent

    def read(self) -> list[Reading]:
        if self._thread is not None:
            if self._thread.is_alive():
                return []
            self._thread = None
        found, self._found = self._found, []
        if self._clock() >= self._due:
            self._thread = threading.Thread(target=self._work, name=f"roundwatch-{self.name}", daemon=True)
            self._thread.start()
        return found

    def settle(self, timeout_s: float) -> None:
        """Waits until what was begun is read."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _work(self) -> None:
        began = self._clock()
        try:
            self._found = list(self._sampler.read())
        except Exception as error:  # noqa: BLE001 - it is optional
            logger.debug("sampling: %s failed: %s", self.name, reason(error))
        self._due = began + max(self._period_s, (self._clock() - began) / SHARE)
