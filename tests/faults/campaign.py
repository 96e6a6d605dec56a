"""Draws faults, applies one after the other, and asks after each whether every invariant holds."""

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tests.faults import oracle
from tests.faults.bounds import Bounds
from tests.faults.catalogue import FAULTS, PROMISED
from tests.faults.stage import Stage

if TYPE_CHECKING:
    from tests.faults.page import OpenPage

# How long the whole may take to be right again on a busy machine; how fast it is, is printed.
HEALED_S = 45.0


class Campaign:
    """Faults of one seed. `count` and `name` say which one is at work; a `page` is asked as viewers are."""

    def __init__(self, stage: Stage, names: Sequence[str], seed: int, page: "OpenPage | None" = None) -> None:
        self._stage, self._names, self._seed, self._page = stage, list(names), seed, page
        self.count, self.name = 0, ""
        self._times: dict[str, dict[str, list[float]]] = {}
        self._bounds = Bounds(stage)

    def run(self, seconds: float) -> None:
        """Goes on for so long, then ends all trainings and accounts for each record."""
        end = time.monotonic() + seconds
        for name in self._drawn():
            if time.monotonic() >= end:
                break
            self.apply(name)
        self.name = "the end"
        self.account()

    def _drawn(self) -> Iterator[str]:
        """All names in a random order, again and again."""
        rng = random.Random(self._seed)  # noqa: S311 - drawn from a seed
        while True:
            yield from rng.sample(self._names, len(self._names))

    def apply(self, name: str) -> None:
        """One fault and what must hold after it. Raises AssertionError."""
        self.count, self.name = self.count + 1, name
        began = time.monotonic()
        rng = random.Random(f"{self._seed} {self.count}")  # noqa: S311 - drawn from a seed
        times = FAULTS[name](self._stage, rng)
        healed = time.monotonic()
        self._stage.answering()
        for one in self._stage.running():
            times[f"live {'near' if one.near else 'far'}"] = one.await_shown(HEALED_S) - healed
        if self._page:
            times["live page"] = self._page.await_shown(HEALED_S) - healed
        for one in self._stage.running():
            one.await_stored(one.returned(), HEALED_S)
            one.assert_nothing_invented()
        times["stored"] = time.monotonic() - healed
        self._bounds.check()
        for what, took in times.items():
            self._times.setdefault(name, {}).setdefault(what, []).append(took)
        told = "  ".join(f"{what} {took:.1f} s{_missed(name, what, took)}" for what, took in times.items())
        print(f"{self.count:3} {name} ({healed - began:.1f} s): {told}", flush=True)

    def account(self) -> None:
        """Ends all trainings; of every record that was ever produced it must be known what became of it."""
        stage = self._stage
        for one in stage.running():
            one.end(kill=False)
        for one in stage.watched:
            one.await_stored(one.returned(), HEALED_S)
            one.assert_conserved()
            one.assert_pictured()
            one.await_shown(HEALED_S)
            one.assert_nothing_invented()
        if self._page:
            self._page.await_shown(HEALED_S)
            self._page.assert_nothing_invented()
        assert stage.prober
        stage.prober.close()
        oracle.await_none(lambda: oracle.conserved(stage.database, "true"), HEALED_S)
        broken = oracle.unacknowledged(stage.database, stage.prober.stream, stage.prober.acknowledged)
        assert not broken, broken
        print(f"accounted for: {oracle.sums(stage.database, HEALED_S)}; {self._bounds.told()}", flush=True)

    def table(self) -> str:
        """Each fault with how often it came, and the median and the longest of each recovery."""
        lines = [f"{'fault':<62} {'times':>5}  recovery: median / longest, s"]
        for name, recoveries in sorted(self._times.items()):
            told = "  ".join(
                f"{what} {statistics.median(took):.1f}/{max(took):.1f}{_missed(name, what, max(took))}"
                for what, took in recoveries.items()
            )
            lines.append(f"{name:<62} {len(recoveries['stored']):>5}  {told}")
        return "\n".join([*lines, f"seed {self._seed}, {self.count} faults"])


def _missed(fault: str, what: str, took: float) -> str:
    """A mark where a recovery took longer than is promised."""
    promise = PROMISED.get(what.partition(" ")[0])
    if promise is None or took <= promise(fault):
        return ""
    return f" MISSED ({promise(fault):g})"
