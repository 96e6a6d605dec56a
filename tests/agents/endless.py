"""A training that goes on until it is told to end, and notes each phase whose calls have returned."""

from pathlib import Path

from tests.agents.collector import until

ENDLESS = """
import itertools, os, sys, time, roundwatch
run = roundwatch.init("p", run_id="r")
oracle = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
for number in itertools.count():
    if number % 50 == 0:
        run.next_round()
    with run.phase("train", i=number):
        time.sleep(0.001)
    os.write(oracle, b"%d\\n" % number)
    if os.path.exists(sys.argv[1] + ".end"):
        break
run.finish()
"""


def returned(oracle: Path) -> int:
    """How many phases have ended; their attribute `i` counts them."""
    return oracle.read_bytes().count(b"\n") if oracle.exists() else 0


def go_on(oracle: Path, count: int) -> None:
    goal = returned(oracle) + count
    until(lambda: returned(oracle) >= goal, "the training goes on", 60)
