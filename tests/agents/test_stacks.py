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
RELEASED = HELD.replace("libc.sem_wait(never)", "__import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 1 << 31)")
WAITING = """
import threading, roundwatch
run = roundwatch.init("p", worker="w")
with run.phase("encode"):
    threading.Event().wait()
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
def test_a_process_in_a_long_call_tells_the_stacks_of_all_threads(
    site: Site, collector: Collector, training: str
) -> None:
    site.shipper()
    process = site.python(training)
    phase = opened(collector)
    said = answer_of(collector, phase["start"])
    assert (said["start"], said["round"], said["left_out"]) == (phase["start"], 3, 0)
    main, other = said["threads"]
    assert [main["name"], other["name"]] == ["main", "thread 2"]
    assert [frame[2] for frame in main["frames"]] == ["encode_all", "<module>"]
    assert [frame[:2] for frame in main["frames"]] == [["<string>", 7], ["<string>", 10]]
    assert other["frames"][0][::2] == ["threading.py", "wait"]
    assert opened(collector)["start"] == phase["start"], "the call was not over when it answered"
    assert process.poll() is None
    again = answer_of(collector, phase["start"])
    assert again["threads"][0] == main, "each answer holds one dump"
    assert collector.worker().whole()


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
    assert not stacks.caught(Path(f"/proc/{process.pid}"))


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
    theirs = stacks.offer()
    os.kill(os.getpid(), stacks.SIGNAL)
    print(theirs[1] != ours[1], os.fstat(ours[1]).st_size == 0, os.fstat(theirs[1]).st_size > 0, flush=True)
    os._exit(0)
os.wait()
""")
    assert printed == "True True True\n"


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
UNREGISTERS = "import faulthandler; faulthandler.unregister(stacks.SIGNAL)"
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
            number, fd, main = map(int, process.stdout.readline().split())
            assert fd == 3
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "there\n"
            assert asked(process, (number, fd, main)).startswith(why)
            # Even if it had been: where nobody handles it, this signal does nothing.
            process.send_signal(stacks.SIGNAL)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.wait(10) == 0
        finally:
            process.kill()


DUMP = """Thread 0x0000000000000003 (most recent call first):
  File "/home/somebody/venv/lib/python3.11/site-packages/torch/nn/module.py", line 12 in forward
  File "/usr/lib/python3.11/threading.py", line 975 in run
Thread 0x0000000000000002 [loader] (most recent call first):
  File "/home/somebody/secret place/job/train.py", line ??? in load
  <no Python frame>
Current thread 0x0000000000000001 (most recent call first):
  File "train.py", line 7 in <module>
"""


def test_a_dump_becomes_threads_main_first_whose_files_tell_nothing_of_the_host() -> None:
    found = stack_text.threads(DUMP)
    said = json.loads(stack_text.attributes(found, 1, {"start": 5}))
    assert said == {
        "start": 5,
        "left_out": 0,
        "threads": [
            {"name": "main", "frames": [["train.py", 7, "<module>"]], "more": 0},
            {"name": "loader", "frames": [["job/train.py", 0, "load"]], "more": 0},
            {
                "name": "thread 3",
                "frames": [["torch/nn/module.py", 12, "forward"], ["threading.py", 975, "run"]],
                "more": 0,
            },
        ],
    }


@pytest.mark.parametrize("end", [len(DUMP) - 1, len(DUMP) - 40, DUMP.index("  File"), 0])
def test_a_dump_that_is_cut_short_is_not_whole(end: int) -> None:
    assert stack_text.whole(DUMP, 1)
    assert not stack_text.whole(DUMP[:end], 1)


def test_however_much_a_process_tells_an_event_holds_it() -> None:
    frames = [("package/" + "m" * 112, 1, "é" * 120)] * 100
    for count in (1, 100):
        text = stack_text.attributes({ident: ("", list(frames)) for ident in range(count, 0, -1)}, 1, {"start": 1})
        assert len(text) < wire.MAX_ATTRS_BYTES
        said = json.loads(text)
        main = said["threads"][0]
        assert main["name"] == "main"
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
