"""Thread stacks when the server asks: from whatever a process is in, harmless to every other, refusals in words."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roundwatch import stack_text, stacks, wire
from roundwatch.asking import Asked
from roundwatch.cli import checks
from tests.agents.collector import Collector, until
from tests.agents.conftest import SOURCES, Site

# What a main thread is in: one call holds the interpreter's lock, the other lets it go.
HELD = """
import ctypes, threading, roundwatch
threading.Thread(target=threading.Event().wait, daemon=True).start()
def encode_all():
    libc, never = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    libc.sem_init(never, 0, 0)
    libc.sem_wait(never)
run = roundwatch.init("p", worker="w")
with run.round(3), run.phase("encode"):
    encode_all()
"""
RELEASED = HELD.replace("libc.sem_wait(never)", "__import__('hashlib').pbkdf2_hmac('sha256', b'', b'', (1 << 31) - 1)")
WAITING = """
import threading, time, roundwatch
def load(): time.sleep(600)
threading.Thread(target=load, name="loader", daemon=True).start()
run = roundwatch.init("p", worker="w")
with run.phase("encode"): time.sleep(600)
"""


def opened(collector: Collector) -> dict[str, Any]:
    """The open phase, once it is reported."""
    (phase,) = until(lambda: collector.worker().last.get("open"), "the phase is reported open")
    found: dict[str, Any] = phase
    return found


def answer_of(collector: Collector, start: int | None) -> dict[str, Any]:
    """Asks the worker's process, and returns the attributes of the event that answers, with its time and round."""
    (stream,) = [key for key, heard in collector.streams.items() if heard.identity["kind"] == "worker"]
    before = len(events(collector))
    collector.asks = [{"what": "stacks", "stream": stream, "start": start}]
    row = until(lambda: events(collector)[before:], "an event answers")[0]
    return {**row["attrs"], "round": row["round"]}


def events(collector: Collector) -> list[dict[str, Any]]:
    return [row for row in collector.worker().of("event") if row["name"] == "stacks"]


@pytest.mark.parametrize("training", [HELD, RELEASED], ids=["lock held", "lock released"])
def test_a_main_thread_in_a_long_call_tells_where_it_is(site: Site, collector: Collector, training: str) -> None:
    site.shipper()
    process = site.python(training)
    phase = opened(collector)
    said = answer_of(collector, phase["start"])
    assert (said["start"], said["round"], said["left_out"], said["only_main"]) == (phase["start"], 3, 0, True)
    (main,) = said["threads"]
    assert (main["name"], main["more"]) == ("main", 0)
    assert main["frames"] == [["<string>", 7, "encode_all"], ["<string>", 10, "<module>"]]
    assert opened(collector)["start"] == phase["start"], "the call was not over when it answered"
    assert process.poll() is None
    assert answer_of(collector, phase["start"])["threads"] == [main], "each answer holds one dump"
    assert collector.worker().whole()


@pytest.mark.parametrize("waits", ["time.sleep(600)", "threading.Event().wait()"], ids=["sleeps", "waits for a lock"])
def test_a_main_thread_that_waits_tells_of_all_threads_and_waits_on(
    site: Site, collector: Collector, waits: str
) -> None:
    site.shipper()
    process = site.python(WAITING.replace('encode"): time.sleep(600)', f'encode"): {waits}'))
    for _ in range(2):
        said = answer_of(collector, opened(collector)["start"])
        main, loader = said["threads"]
        assert "only_main" not in said
        assert [main["name"], loader["name"]] == ["main", "loader"]
        assert main["frames"][-1] == ["<string>", 6, "<module>"]
        assert loader["frames"][0][2] == "load"
    assert process.poll() is None


def test_a_phase_that_has_ended_is_not_told_by_what_came_after(site: Site, collector: Collector) -> None:
    site.shipper()
    site.python(WAITING)
    start = opened(collector)["start"]
    assert answer_of(collector, start + 1_000) == {
        "start": start + 1_000, "round": -1, "failed": "the phase had ended when it was asked",
    }  # fmt: skip


def test_a_stopped_process_is_said_to_be_stopped(site: Site, collector: Collector) -> None:
    site.shipper()
    process = site.python(WAITING)
    start = opened(collector)["start"]
    process.send_signal(signal.SIGSTOP)
    assert answer_of(collector, start)["failed"] == "no answer within 1 s: it is stopped"
    process.send_signal(signal.SIGCONT)
    assert answer_of(collector, start)["threads"][0]["name"] == "main"


def test_a_training_that_opted_out_says_so_and_handles_no_signal(site: Site, collector: Collector) -> None:
    site.shipper()
    site.environment["ROUNDWATCH_STACKS"] = "off"
    process = site.python(WAITING)
    assert answer_of(collector, opened(collector)["start"])["failed"] == "ROUNDWATCH_STACKS is off"
    assert not stacks.caught(Path(f"/proc/{process.pid}"), stacks.SIGNAL)


def test_wishes_that_make_no_sense_are_passed_over(site: Site, collector: Collector) -> None:
    site.shipper()
    site.python(WAITING)
    start = opened(collector)["start"]
    stream = next(key for key, heard in collector.streams.items() if heard.identity["kind"] == "worker")
    hostile: list[Any] = [1, None, [], {"stream": stream}, {"what": "stacks"}, {"what": "melt", "stream": stream}]
    collector.asks = [*hostile, {"what": "stacks", "stream": "f" * 32, "start": 0}]
    until(lambda: not collector.asks, "they have been taken along")
    assert "threads" in answer_of(collector, start)
    assert len(events(collector)) == 1


def test_doctor_says_whether_a_training_here_would_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = checks.stack_lines()
    assert line.mark == "ok"
    monkeypatch.setenv("ROUNDWATCH_STACKS", "off")
    (line,) = checks.stack_lines()
    assert (line.mark, line.text) == ("none", "not told by a training here: ROUNDWATCH_STACKS is off")


def alone(code: str) -> str:
    """What a Python of its own prints."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=True).stdout


def test_a_process_that_handles_the_signal_itself_keeps_its_handler() -> None:
    printed = alone("""
import os, signal
signal.signal(signal.SIGURG, lambda *_: print("its own"))
from roundwatch import stacks
print(stacks.offer() == (-stacks.TAKEN, 0, 0))
os.kill(os.getpid(), signal.SIGURG)
""")
    assert printed.split("\n")[:2] == ["True", "its own"]


def test_a_forked_child_that_begins_a_run_answers_for_itself_alone() -> None:
    printed = alone("""
import os
from roundwatch import stacks
ours = stacks.offer()
assert stacks.offer() is ours
if not os.fork():
    os.kill(os.getpid(), stacks.SIGNAL)
    theirs = stacks.offer()
    os.kill(os.getpid(), stacks.SIGNAL)
    print(theirs[1] != ours[1], os.fstat(ours[1]).st_size == 0, os.fstat(theirs[1]).st_size > 0, flush=True)
    os._exit(0)
os.wait()
""")
    assert printed == "True True True\n"


def test_a_run_that_is_begun_beside_the_main_thread_has_none_to_tell() -> None:
    printed = alone("""
import threading
from roundwatch import stacks
threading.Thread(target=lambda: print(stacks.offer() == (-stacks.NOT_MAIN, 0, 0))).start()
""")
    assert printed == "True\n"


def asked(process: "subprocess.Popen[str]", offer: stacks.Offer) -> str:
    """Why a process cannot be asked by what it is said to have offered."""
    descriptor = os.pidfd_open(process.pid)
    try:
        question = Asked(offer, process.pid, descriptor, None, None)
        until(question.over, "it is over")
        question.close()
        return str(json.loads(question.event(1).text).get("failed", ""))
    finally:
        os.close(descriptor)


TAKES_ITS_PLACE = """
import os, sys
from roundwatch import stacks
print(*map(int, stacks.offer()), flush=True)
sys.stdin.readline()
{then}
print("there", flush=True)
sys.stdin.readline()
"""
EXECUTES = "os.execv(sys.executable, [sys.executable, '-c', 'print(\"there\", flush=True); input()'])"
UNREGISTERS = "import signal; signal.signal(stacks.SIGNAL, signal.SIG_DFL)"
REUSES = "os.close(3); assert os.open('/dev/null', os.O_WRONLY) == 3"


@pytest.mark.parametrize(
    ("then", "why"),
    [
        (EXECUTES, "it cannot be reached"),
        (UNREGISTERS, "it has taken back what answers"),
        (REUSES, "it has closed the file that it would write to"),
    ],
    ids=["another program in its place", "no handler any more", "another file under its number"],
)
def test_a_process_that_has_become_another_is_not_signalled_and_lives(then: str, why: str) -> None:
    command = [sys.executable, "-c", TAKES_ITS_PLACE.replace("{then}", then)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            number, fd, spare = map(int, process.stdout.readline().split())
            assert fd == 3
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "there\n"
            assert asked(process, (number, fd, spare)).startswith(why)
            # Even if it had been: where nobody handles it, this signal does nothing.
            process.send_signal(stacks.SIGNAL)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.wait(10) == 0
        finally:
            process.kill()


PYTHON = f"""{stacks.BEGIN}Thread [main] (most recent call first):
  File "train.py", line 7 in <module>
Thread [loader] (most recent call first):
  File "/home/somebody/secret place/job/train.py", line 8 in load
Thread [] (most recent call first):
  File "/home/somebody/venv/lib/python3.11/site-packages/torch/nn/module.py", line 12 in forward
  File "/usr/lib/python3.11/threading.py", line 975 in run
{stacks.END}"""
DUMPER = """Stack (most recent call first):
  File "/home/somebody/job/train.py", line ??? in encode
  File ???, line 3 in ???
"""


def test_what_python_tells_becomes_threads_whose_files_tell_nothing_of_the_host() -> None:
    said = json.loads(stack_text.attributes(stack_text.by_python(PYTHON), {"start": 5}))
    assert (said["start"], said["left_out"]) == (5, 0)
    assert [(thread["name"], thread["frames"]) for thread in said["threads"]] == [
        ("main", [["train.py", 7, "<module>"]]),
        ("loader", [["job/train.py", 8, "load"]]),
        ("(unnamed)", [["torch/nn/module.py", 12, "forward"], ["threading.py", 975, "run"]]),
    ]


def test_what_the_dumper_tells_is_the_main_thread() -> None:
    (main,) = stack_text.by_dumper(DUMPER)
    assert main == ("main", [("job/train.py", 0, "encode"), ("?", 3, "???")])
    assert stack_text.by_dumper(DUMPER + PYTHON) == [main]
    assert stack_text.by_python(DUMPER + PYTHON) == stack_text.by_python(PYTHON)


@pytest.mark.parametrize("end", [len(PYTHON) - 1, len(PYTHON) - 40, PYTHON.index("  File"), 0])
def test_what_is_cut_short_is_not_taken_for_all(end: int) -> None:
    assert stack_text.by_python(PYTHON)
    assert not stack_text.by_python(PYTHON[:end])
    assert not stack_text.by_dumper(DUMPER[:-1])


def test_however_much_a_process_tells_an_event_holds_it() -> None:
    frames = [("package/" + "m" * 112, 1, "é" * 120)] * 100
    for count in (1, 100):
        text = stack_text.attributes([stack_text.Thread("main", frames)] * count, {"start": 1})
        assert len(text) < wire.MAX_ATTRS_BYTES
        said = json.loads(text)
        main = said["threads"][0]
        assert len(main["frames"]) + main["more"] == 100
        assert len(said["threads"]) + said["left_out"] == count


def test_an_older_training_is_said_to_be_one() -> None:
    question = Asked((0, 0, 0), os.getpid(), None, None, None)
    assert question.over()
    assert "does not answer yet" in json.loads(question.event(1).text)["failed"]


def test_a_process_that_its_shipper_cannot_see_is_not_asked() -> None:
    question = Asked((23, 3, 1), 0, None, None, None)
    assert question.over()
    assert "cannot see it" in json.loads(question.event(1).text)["failed"]
