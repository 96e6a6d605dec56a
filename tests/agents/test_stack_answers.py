"""What a process offers to whoever asks for its thread stacks, what is made of its answer, and whom it cannot harm."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roundwatch import stack_text, stacks, wire
from roundwatch.asking import Asked
from roundwatch.cli import checks
from tests.agents.collector import until
from tests.agents.conftest import SOURCES


def test_doctor_says_whether_a_training_here_would_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = checks.stack_lines()
    assert line.mark == "ok"
    monkeypatch.setenv("ROUNDWATCH_STACKS", "off")
    (line,) = checks.stack_lines()
    assert (line.mark, line.text) == ("none", "not told by a training here: ROUNDWATCH_STACKS is off")


def alone(code: str, **more: str) -> str:
    """What a Python of its own prints."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), **more}
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


def test_a_process_that_takes_a_signal_back_is_asked_no_more(tmp_path: Path) -> None:
    for taken in (0, 1, 2):
        printed = alone(
            f"""
import signal, time, roundwatch
from roundwatch import layout, stacks
run = roundwatch.init("p", mode="offline")
offer = tuple(run._ring._head[layout.STACKS + at] for at in range(3))
signal.signal((offer[0], *stacks.signals(offer))[{taken}], lambda *_: None)
time.sleep(0.3)
run.next_round()
print(run._ring._head[layout.STACKS] == stacks.REFUSED[0], stacks.offer() == stacks.REFUSED)
""",
            ROUNDWATCH_SPOOL=str(tmp_path),
        )
        assert printed == "True True\n"


@pytest.mark.parametrize("room", [3, 4, 6, 12])  # a handler of Python needs a frame of its own
def test_a_training_near_the_limit_of_recursion_recurses_on(room: int) -> None:
    printed = alone(f"""
import os, sys
from roundwatch import stacks
assert stacks.offer()[0] > 0
def deep(frames):
    return deep(frames - 1) if frames else os.kill(os.getpid(), stacks.SIGNAL)
def depth(frame, count=0):
    while frame: frame, count = frame.f_back, count + 1
    return count
for _ in range(5):
    deep(sys.getrecursionlimit() - depth(sys._getframe()) - {room})
print("went on")
""")
    assert printed == "went on\n"


def test_what_a_trainings_own_handler_raises_into_ours_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def alarm() -> int:
        raise TimeoutError

    monkeypatch.setattr(stacks._given, "pid", os.getpid())
    monkeypatch.setattr(stacks._given, "offer", (stacks.SIGNAL, -1, 0))
    stacks._tell(stacks.SIGNAL, None)  # there is no such file, which is our affair
    monkeypatch.setattr(stacks._given, "offer", (stacks.SIGNAL, os.open(os.devnull, os.O_WRONLY), 0))
    monkeypatch.setattr("roundwatch.stacks.threading.get_ident", alarm)
    with pytest.raises(TimeoutError):
        stacks._tell(stacks.SIGNAL, None)
    os.close(stacks._given.offer[1])


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
