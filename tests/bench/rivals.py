"""What the SDK costs a data-parallel training beside wandb in offline mode and beside traceml-ai: medians, printed.

Run as `python -m tests.bench rivals [--only wandb|traceml-ai] [--turns N] [--steps N] [--repetitions N]`. In a
repetition each side is a training in a process of its own, of the same step; they take turns of so many steps each, in
an order that rotates, and who has not the turn is stopped with all that it started. The reference is the side
`nothing`, of the same repetition; what differs between it and `nothing, once more` is noise. A rival that cannot be
installed or does not run here is said, and the others are measured.
"""

import argparse
import contextlib
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.bench import provisions
from tests.bench.contender import Contender, Found, contender
from tests.bench.host import REPOSITORY, host
from tests.bench.provisions import Installed, MissingError
from tests.bench.table import Row, conditions, median_ratio, percentile, show

NOTHING, AGAIN = "nothing", "nothing, once more"
OURS = ("roundwatch, watch_ddp", "roundwatch, phases", "roundwatch, five numbers")
RIVALS = ("wandb", "traceml-ai")
IMPORTS = {  # what a training takes of each
    "roundwatch": "from roundwatch import init",
    "wandb": "import wandb; wandb.init",
    "traceml-ai": "from traceml_ai import init, trace_step",
}
IMPORT = "import time, torch; began = time.perf_counter(); {}; print(time.perf_counter() - began)"
Trainings = dict[str, list[Found]]  # by side, one of each repetition


def rows_of_a_batch() -> int:
    """How large a batch takes 10 ms a step here, the same for all sides."""
    with host("") as place:
        command = [sys.executable, "-m", "tests.bench.model"]
        return int(json.loads(subprocess.check_output(command, env=place.environment, cwd=REPOSITORY)))


def import_ms(name: str, provision: Installed) -> float:
    """What the import of a package takes, in a process that has torch, as it was installed by pip."""
    with host("") as place, tempfile.TemporaryDirectory() as folder:
        environment = provision.added_to({**place.environment, "PYTHONPATH": ""})
        command = [sys.executable, "-c", IMPORT.format(IMPORTS[name])]
        return 1e3 * float(subprocess.check_output(command, env=environment, cwd=folder))


class Repetition:
    """All sides once; whoever fails is told of in `missing` and left out of it."""

    def __init__(self, provided: dict[str, Installed | None], rows: int, missing: dict[str, str]) -> None:
        self._provided, self._rows, self._missing = provided, rows, missing
        self._living: dict[str, Contender] = {}

    def measure(self, turns: int, steps: int, first: int) -> dict[str, Found]:
        """What each side was found to take; `first` says whose turn is the first."""
        found: dict[str, Found] = {}
        with contextlib.ExitStack() as stack:
            for name in rotated([name for name in self._provided if name not in self._missing], first):
                self._try(name, lambda name=name: self._start(stack, name))
            for turn in range(turns):
                for name in rotated(self._living, first + turn):
                    self._try(name, lambda name=name: self._living[name].turn(steps))
            for name in rotated(self._living, first):
                self._try(name, lambda name=name: found.update({name: self._living[name].end()}))
        return {name: one for name, one in found.items() if name not in self._missing}

    def _start(self, stack: contextlib.ExitStack, name: str) -> None:
        self._living[name] = stack.enter_context(contender(name, self._rows, self._provided[name]))

    def _try(self, name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (MissingError, OSError) as error:
            self._living.pop(name, None)
            self._missing[name] = str(error)


def rotated(names: Iterable[str], by: int) -> list[str]:
    """The names in their order, begun with another one for each number."""
    listed = list(names)
    start = by % max(1, len(listed))
    return listed[start:] + listed[:start]


def rows(trainings: Trainings) -> list[Row]:
    """One row for each figure of each side that was measured, grouped by figure, beside `nothing`."""
    bare = trainings[NOTHING]
    sides = {name: found for name, found in trainings.items() if found and name != NOTHING}
    table = []
    for title, unit, figure in COMPARED:
        for name, found in sides.items():
            pairs = [(figure(ours), figure(reference)) for ours, reference in zip(found, bare, strict=True)]
            ours, reference = (statistics.median(column) for column in zip(*pairs, strict=True))
            table.append(
                Row(name=f"{title}: {name}", ours=ours, unit=unit, reference=reference, ratio=median_ratio(pairs))
            )
    for title, unit, added in ADDED:
        for name, found in sides.items():
            each = [added(ours) - added(reference) for ours, reference in zip(found, bare, strict=True)]
            table.append(Row(name=f"{title}: {name}", ours=statistics.median(each), unit=unit))
    return table + [
        Row(name=f"{title}: {name}", ours=statistics.median(map(figure, found)), unit=unit)
        for title, unit, figure in OWN
        for name, found in sides.items()
        if name != AGAIN
    ]


Figures = tuple[tuple[str, str, Callable[[Found], float]], ...]
COMPARED: Figures = (
    ("median step", "ms", lambda found: statistics.median(found.lasted_ms)),
    ("p99 of steps", "ms", lambda found: percentile(found.lasted_ms, 0.99)),
    ("CPU of a step, all threads of the training", "ms", lambda found: found.training_cpu_ms),
)
ADDED: Figures = (
    ("added before the first step", "s", lambda found: found.start_s),
    ("added from the last step to the command's end", "s", lambda found: found.exit_s),
)
OWN: Figures = (
    ("import and init in the training", "ms", lambda found: 1e3 * found.begin_s),
    ("CPU of helper processes, begin to end", "s", lambda found: found.helpers_s),
    ("the same while it steps", "% of a core", lambda found: 100 * found.helpers_share),
    ("left in files", "kB", lambda found: found.left / 1e3),
    ("sent", "kB", lambda found: found.sent / 1e3),
)


def sizes(provided: dict[str, Installed], imports: dict[str, list[float]]) -> list[Row]:
    """What pip installs of each into an empty environment, and what its import takes."""
    table = []
    for name, one in provided.items():
        table.append(Row(name=f"import, torch being there: {name}", ours=statistics.median(imports[name]), unit="ms"))
        table.append(Row(name=f"packages installed: {name}", ours=one.packages))
        table.append(Row(name=f"installed: {name}", ours=one.mib, unit="MiB"))
    return sorted(table, key=lambda row: row.name.partition(":")[0])  # stable: names stay in their order


def provided(rivals: Iterable[str], folder: Path, missing: dict[str, str]) -> dict[str, Installed]:
    """The SDK and the rivals as pip installs them; who cannot be is told of in `missing`."""
    found = {}
    for name in ("roundwatch", *rivals):
        try:
            found[name] = provisions.rival(name) if name in RIVALS else provisions.ours(folder)
        except MissingError as error:
            missing[name] = str(error)
    return found


def say(missing: dict[str, str]) -> None:
    """Who was not measured, and why."""
    for name, why in missing.items():
        print(f"{name}: not measured: {why}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=RIVALS, help="of the rivals this one alone")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--steps", type=int, default=200, help="of a turn")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: no training to measure (pip install torch)")
        return
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        installed = provided([options.only] if options.only else RIVALS, Path(folder), missing)
        versions = ", ".join(f"{name} {one.version}" for name, one in installed.items())
        shape = f"{options.repetitions} repetitions of {options.turns} turns of {options.steps} steps"
        conditions("rivals", versions, shape)
        say(missing)
        sides: dict[str, Installed | None] = dict.fromkeys((NOTHING, AGAIN, *OURS))
        sides |= {name: installed[name] for name in RIVALS if name in installed}
        trainings: Trainings = {name: [] for name in sides}
        imports: dict[str, list[float]] = {name: [] for name in installed}
        batch = rows_of_a_batch()
        for number in range(options.repetitions):
            for name, provision in installed.items():
                imports[name].append(import_ms(name, provision))
            for name, found in Repetition(sides, batch, missing).measure(options.turns, options.steps, number).items():
                trainings[name].append(found)
    if NOTHING in missing:
        raise SystemExit(f"the training itself failed: {missing[NOTHING]}")
    measured = {name: found for name, found in trainings.items() if name not in missing}
    show(rows(measured) + sizes(installed, imports))
    say(missing)


if __name__ == "__main__":
    main()
