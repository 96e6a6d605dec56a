"""That `rivals` measures the sides that need nothing downloaded, and says which rivals are not there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agents.collector import until
from tests.bench.host import REPOSITORY
from tests.bench.marked import Marked

pytest.importorskip("torch", reason="torch is not installed here")

from tests.bench.contender import Found
from tests.bench.rivals import AGAIN, NOTHING, OURS, Repetition, rotated, rows

ROWS = 64
CHILD = """
import subprocess, sys, time
while time.process_time() < 0.1:
    pass
subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)  # its child may be killed first
"""


@pytest.mark.timeout(300)
def test_where_nothing_can_be_downloaded_our_sides_are_measured_and_the_rival_is_said_to_be_missing(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "tests.bench", "rivals", "--only", "wandb"]
    command += ["--turns", "1", "--steps", "3", "--repetitions", "1"]
    environment = {**os.environ, "PIP_NO_INDEX": "1", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    said = [
        number for number, line in enumerate(lines) if line.startswith("wandb: not measured: No matching distribution")
    ]
    [begin], end = [number for number, line in enumerate(lines) if line.startswith("figure ")], len(lines) - 1
    assert said == [begin - 1, end]  # before the table and after it
    table = {
        name.strip(): cells.split() for name, _, cells in (line.partition("  ") for line in lines[begin + 1 : end])
    }
    assert not [name for name in table if "wandb" in name]
    for side in OURS:
        ours, unit, reference, _, ratio = table[f"median step: {side}"]
        assert (unit, float(ours) > 0, float(reference) > 0, float(ratio) > 0) == ("ms", True, True, True)
        assert float(table[f"sent: {side}"][0]) > 1  # kB: what it recorded arrived
        assert float(table[f"CPU of helper processes, begin to end: {side}"][0]) > 0  # its shipper was seen
    assert float(table["packages installed: roundwatch"][0]) == 1


def test_a_side_whose_training_fails_is_told_of_and_the_others_are_measured() -> None:
    missing: dict[str, str] = {}
    found = Repetition({NOTHING: None, "wandb": None}, ROWS, missing).measure(turns=2, steps=3, first=1)
    assert list(found) == [NOTHING]
    assert len(found[NOTHING].lasted_ms) == 2 * 3
    assert list(missing) == ["wandb"]
    assert "No module named 'wandb'" in missing["wandb"]


def test_figures_are_those_of_the_same_repetition_and_what_only_tools_have_is_not_asked_of_nothing() -> None:
    bare, other = ([Found(start_s=1, begin_s=0, lasted_ms=[step] * 3, exit_s=1) for step in (10.0, 40.0)] for _ in "ab")
    ours = [Found(start_s=3, begin_s=0.2, lasted_ms=[step] * 3, exit_s=1.5) for step in (11.0, 44.0)]
    for one in (*bare, *other, *ours):
        one.training_cpu_ms = 10
    table = {row.name: row for row in rows({NOTHING: bare, AGAIN: other, OURS[0]: ours})}
    step, again = table[f"median step: {OURS[0]}"], table[f"median step: {AGAIN}"]
    assert (step.ours, step.reference, step.judged, again.judged) == (27.5, 25.0, pytest.approx(1.1), 1.0)
    assert table[f"added before the first step: {OURS[0]}"].ours == 2
    assert table[f"added from the last step to the command's end: {OURS[0]}"].ours == 0.5
    assert table[f"import and init in the training: {OURS[0]}"].ours == 200
    assert [name for name in table if name.startswith("import") and AGAIN in name] == []


def test_each_side_is_the_first_in_its_turn() -> None:
    assert [rotated("abc", number) for number in range(4)] == [list("abc"), list("bca"), list("cab"), list("abc")]
    assert rotated([], 2) == []


def test_a_side_pauses_with_all_that_it_started_and_nobody_else_does() -> None:
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    with (
        subprocess.Popen([sys.executable, "-c", CHILD], env={**os.environ, "BENCH_SIDE": mark}) as side,
        subprocess.Popen([sys.executable, "-c", CHILD], env={**os.environ, "BENCH_SIDE": f"{mark}-other"}) as other,
    ):
        marked, others = Marked("BENCH_SIDE", mark), Marked("BENCH_SIDE", f"{mark}-other")
        try:
            until(lambda: len(marked.living()) == len(others.living()) == 2, "both have their child")
            marked.send(signal.SIGSTOP)
            until(lambda: states(marked) == {"T"}, "both are stopped")
            assert "T" not in states(others)
            marked.send(signal.SIGCONT)
            until(lambda: "T" not in states(marked), "both go on")
            assert set(marked.cpu) == set()
            assert side.pid in marked.look()
            assert marked.cpu[side.pid] >= 0.09
        finally:
            marked.leave(0)
            others.leave(0)
        assert (side.wait(10), other.wait(10)) == (-signal.SIGKILL, -signal.SIGKILL)
        until(lambda: not marked.living(), "all have ended")


def states(marked: Marked) -> set[str]:
    """The letters by which the kernel tells what they do; T is stopped."""
    return {Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] for pid in marked.living()}
