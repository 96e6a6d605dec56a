"""Thread stacks when the server asks: from whatever a process is in, harmless to every other, refusals in words."""

import signal
from pathlib import Path
from typing import Any

import pytest

from roundwatch import stacks
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site

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
BLOCKED = HELD.replace(
    "run = ",
    "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(signal.SIGRTMIN, signal.SIGRTMAX + 1)); run = ",
)
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


def test_a_main_thread_that_blocks_the_dumpers_signal_has_no_other_thread_take_it(
    site: Site, collector: Collector
) -> None:
    site.shipper()
    process = site.python(BLOCKED)
    phase = opened(collector)
    assert "its main thread blocks signal" in answer_of(collector, phase["start"])["failed"]
    assert process.poll() is None


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
