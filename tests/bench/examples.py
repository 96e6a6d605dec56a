"""Whether the example training's real faults are judged right, and that nothing is found without any; printed.

Run as `python -m tests.bench examples [--runs N] [--rounds N] [--only starved|kept|dying|healthy]`. A product of its
own is started; then the example runs with each fault in turn, and once without for so many rounds. What was found is
asked of REST when all have run: right is who names kind, culprit and cause, and blames nobody else.
"""

import argparse
import collections
import itertools
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.bench.example_faults import FAULTS, HEALTHY, Fault, Judged, judged
from tests.bench.table import Row, conditions, show
from tests.e2e.product import REPOSITORY, Product, reachable_folder, started, until

SCRIPT = REPOSITORY / "agents" / "examples" / "rounds.py"
LEAST_RIGHT = 0.95
JUDGED_S, SAID_S = 60.0, 30.0  # after a training's end until its rounds are judged, and until the last is said of it
CAN_STARVE = "import sys; sys.path.insert(0, sys.argv[1]); from federated import starvation; starvation.Quota()"


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of the example that is over, by its id, and how long it took."""

    fault: Fault
    id: str
    seconds: float


class Theatre:
    """A product that judges trainings of this machine, which its own agent serves."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.quota = can_starve()
        path = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "agents" / "src")))
        self._environment = {
            **os.environ, "PYTHONPATH": path, "ROUNDWATCH_URL": product.url,
            "ROUNDWATCH_TOKEN": product.ready["token"], "ROUNDWATCH_SPOOL": str(product.data / "spool"),
        }  # fmt: skip

    def play(self, fault: Fault, rounds: int) -> Ran:
        """Run the example to its end, and wait until its rounds are judged."""
        key, began = f"{fault.name}-{uuid.uuid4().hex[:8]}", time.monotonic()
        command = [sys.executable, str(SCRIPT), f"--rounds={rounds}", f"--run-id={key}", *fault.options]
        with tempfile.TemporaryFile("w+") as said:
            code = subprocess.run(command, env=self._environment, stdout=said, stderr=said, check=False).returncode
            said.seek(0)
            if code:
                raise SystemExit(f"the example ended with {code}:\n{said.read()[-4000:]}")
        run = until(JUDGED_S, lambda: self._run(key), "the run is known")
        until(JUDGED_S, lambda: self._all_judged(run["id"], rounds), f"all rounds of {key} are judged")
        ran = Ran(fault, run["id"], time.monotonic() - began)
        deadline = time.monotonic() + SAID_S
        while fault.culprit and self.judged(ran).wrong and time.monotonic() < deadline:
            time.sleep(0.5)
        return ran

    def judged(self, ran: Ran) -> Judged:
        """What is found of the run now."""
        findings = list(self.product.items(f"/api/v1/runs/{ran.id}/findings"))
        return judged(ran.fault, findings, quota=self.quota)

    def took(self, ran: Ran) -> str:
        """How long the fault's phase took in each round, worker by worker: what the judge had to see it by."""
        seconds: dict[str, list[str]] = collections.defaultdict(list)
        for one in self.product.items(f"/api/v1/runs/{ran.id}/phases?name={ran.fault.phase or 'train'}"):
            seconds[one["worker"]].append(f"{one['round']}: {one['seconds']:.1f}")
        walls = [f"{one['wall_s']:.1f}" for one in self.product.items(f"/api/v1/runs/{ran.id}/rounds")]
        return f"    rounds of {', '.join(walls)} s; " + "; ".join(f"{w} {', '.join(s)}" for w, s in seconds.items())

    def _run(self, key: str) -> dict[str, Any] | None:
        return next((one for one in self.product.items("/api/v1/runs") if one["key"] == key), None)

    def _all_judged(self, run_id: str, rounds: int) -> bool:
        found = list(self.product.items(f"/api/v1/runs/{run_id}/rounds"))
        return len(found) >= rounds and all(one["coverage"] is not None for one in found)


def can_starve() -> bool:
    """Whether a cgroup's quota can be set here, without which nobody is told why the encoder starves."""
    command = [sys.executable, "-c", CAN_STARVE, str(SCRIPT.parent)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "agents" / "src")}
    return subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False).returncode == 0


@contextmanager
def theatre() -> Iterator[Theatre]:
    """A product of its own; it is gone when the block ends."""
    with reachable_folder() as folder, started(folder / "data") as product:
        yield Theatre(product)


def told(ran: Ran, found: Judged) -> str:
    """A line on a run, and one for each finding above info."""
    lines = [f"{ran.fault.name} ({ran.seconds:.0f} s): {', '.join(found.wrong) or 'right'}"]
    lines += [f"    {one['kind']} {one['severity']}: {one['observed']} | {one['hypothesis']}" for one in found.telling]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20, help="trainings with a fault, of each in turn (default: 20)")
    parser.add_argument("--rounds", type=int, default=50, help="rounds without a fault (default: 50)")
    parser.add_argument("--only", choices=[fault.name for fault in (*FAULTS, HEALTHY)])
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if options.only in (None, fault.name)]
    planned = [(fault, fault.rounds) for fault in itertools.islice(itertools.cycle(faults), options.runs)]
    if options.only in (None, HEALTHY.name):
        planned.append((HEALTHY, options.rounds + 1))  # the first is warm-up
    with theatre() as place:
        conditions("examples", f"{'a' if place.quota else 'no'} CPU quota can be set")
        ran = []
        for fault, rounds in planned:
            ran.append(place.play(fault, rounds))
            found = place.judged(ran[-1])
            print(told(ran[-1], found), *([place.took(ran[-1])] if found.wrong else []), sep="\n", flush=True)
        show(rows([(one, place.judged(one)) for one in ran], quota=place.quota))


def rows(found: Sequence[tuple[Ran, Judged]], *, quota: bool) -> Iterable[Row]:
    """A row for each fault, one for all, and one for what was found without."""
    right: dict[str, list[bool]] = collections.defaultdict(list)
    for ran, one in found:
        if ran.fault.culprit:
            right[ran.fault.name].append(not one.wrong)
    for name, each in right.items():
        why = ", its cause not known here" if name == "starved" and not quota else ""
        yield Row(name=f"{name}: judged right of {len(each)} runs{why}", ours=sum(each))
    every = [one for each in right.values() for one in each]
    if every:
        yield Row(name=f"share judged right of {len(every)} runs", ours=sum(every) / len(every), least=LEAST_RIGHT)
    for ran, one in found:
        if not ran.fault.culprit:
            yield Row(name="findings above info without a fault", ours=len(one.telling), most=0)


if __name__ == "__main__":
    main()
