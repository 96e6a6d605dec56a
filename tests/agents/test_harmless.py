"""A training is never harmed: whatever the server does, however clocks jump, whatever it opens and starts at once."""

import os
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from roundwatch import wire
from tests.agents.collector import CLOCK_AHEAD_NS, Collector, until
from tests.agents.conftest import Site

ENDS_S = 60  # that it ends at all; how soon is for tests/bench/step_time.py to say


class BadServer:
    """Listens, and does to each connection what `act` does, until it is closed."""

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _accept(self) -> None:
        connections = []
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connections.append(connection)
                thread = threading.Thread(target=self._talk, args=(connection,), daemon=True)
                thread.start()
        for connection in connections:
            connection.close()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError):
            connection.recv(1 << 16)
            for byte in self._answer or b"":
                connection.sendall(bytes([byte]))
                if self._ended.wait(0.2 if self._answer == SLOW else 0):
                    return
            if self._answer is not None:
                connection.shutdown(socket.SHUT_RDWR)


SLOW = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b" " * 10_000
BAD: dict[str, bytes | None] = {
    "black hole": None,
    "slow": SLOW,
    "garbage": os.urandom(5_000) + b"\r\n\r\n",
    "no JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "hangs up": b"",
}

TRAINING = """
import time, roundwatch
run = roundwatch.init("p", run_id="r")
for index in range(5):
    with run.round(index):
        for number in range(200):
            with run.phase("train", i=number):
                pass
        time.sleep(0.2)
print("trained", flush=True)
"""


@pytest.mark.parametrize("how", [*BAD, "refuses"])
def test_a_training_ends_in_silence_whatever_the_server_does(tmp_path: Path, how: str) -> None:
    server = BadServer(BAD.get(how))
    if how == "refuses":
        server.close()
    site = Site(tmp_path / "spool", server.url)
    try:
        process = site.python(f"import sys; sys.stderr = sys.stdout\n{TRAINING}")
        assert process.stdout is not None
        assert process.stdout.readline() == f"roundwatch: recording run r: {server.url}/?q=r\n"
        assert process.stdout.readline() == "trained\n"
        assert process.wait(ENDS_S) == 0
        assert process.stdout.read() == ""
        until(lambda: kept_bytes(site.folder) > 50_000, "all is in the spool")
    finally:
        site.close()
        server.close()


def kept_bytes(folder: Path) -> int:
    """What lies in the segments of a spool folder; they may be sealed meanwhile."""
    total = 0
    with suppress(FileNotFoundError):
        for path in folder.glob("*/*"):
            total += path.stat().st_size
    return total


CLOCKS = """
import os, threading, time
real, shift = time.time_ns, [0]
time.time_ns = lambda: real() + shift[0]
time.time = lambda: time.time_ns() / 1e9
def jump():
    while True:
        for hours in (1, -1, 0):
            shift[0] = hours * 3_600_000_000_000
            time.sleep(0.05)
threading.Thread(target=jump, daemon=True).start()
"""

JUMPING = """
import json, roundwatch
run = roundwatch.init("p", run_id="r")
for index in range(12):
    with run.round(index):
        before = time.monotonic_ns()
        with run.phase("train", i=index):
            inside = time.monotonic_ns()
            time.sleep(0.1)
            inner = time.monotonic_ns() - inside
        print(inner, time.monotonic_ns() - before, flush=True)
"""


def test_jumps_of_the_clock_by_an_hour_change_no_duration_no_order_and_no_corrected_time(
    site: Site, collector: Collector
) -> None:
    site.python(f"{CLOCKS}\nimport sys\nfrom roundwatch import shipper\nsys.exit(shipper.main([]))")
    until(site.holder, "the shipper holds its lock")
    output = site.run(CLOCKS + JUMPING)
    until(lambda: "finish" in collector.worker().turns(), "the end has arrived")
    phases = collector.worker().phases("train")
    bounds = [tuple(map(int, line.split())) for line in output.splitlines()]
    assert len(phases) == len(bounds) == 12
    assert all(low <= row["duration_ns"] <= high for row, (low, high) in zip(phases, bounds, strict=True))
    begins = [row["begin_ns"] for row in phases]
    assert begins == sorted(begins)
    assert [row["attrs"]["i"] for row in phases] == list(range(12))
    for batch in (batch for request in collector.requests for batch in request["batches"]):
        assert batch["error_ns"] is not None
        assert abs(batch["offset_ns"] - CLOCK_AHEAD_NS) <= batch["error_ns"]


MANY_OPEN = """
import signal, roundwatch
run = roundwatch.init("p", run_id="r")
phases = [run.phase(f"depth {number % 7}").__enter__() for number in range(10_000)]
print("open", flush=True)
signal.pause()
"""


def test_ten_thousand_open_phases_are_shown_in_part_and_end_with_their_process(
    site: Site, collector: Collector
) -> None:
    site.shipper()
    training = site.python(MANY_OPEN)
    assert training.stdout is not None
    training.stdout.readline()
    until(lambda: len(collector.worker().last.get("open", [])) == wire.MAX_OPEN, "the first are reported open")
    training.kill()
    until(lambda: "gone" in collector.worker().turns() and collector.worker().whole(), "all has arrived", 40)
    phases = collector.worker().phases()
    assert len(phases) == 10_000
    assert {row["state"] for row in phases} == {"aborted"}
    assert not collector.worker().of("drop")


STORM = """
import threading, roundwatch
class Rude:
    def __repr__(self):
        raise RuntimeError("no")
    __str__ = __repr__
run = roundwatch.init("p", run_id="r")
def work(name):
    for number in range(20):
        with run.phase(name, i=number, rude=Rude(), much="x" * 1_000_000):
            run.event("e", deep=[[[[name]]]])
with run.round(0):
    for _ in range(10):
        threads = [threading.Thread(target=work, args=(f"t{index}",)) for index in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
print("stormed")
"""


def test_a_storm_of_threads_with_absurd_attributes_raises_nothing_and_loses_nothing(
    site: Site, collector: Collector
) -> None:
    site.shipper()
    assert site.run(f"import sys; sys.stderr = sys.stdout\n{STORM}").splitlines()[1:] == ["stormed"]
    until(lambda: "finish" in collector.worker().turns() and collector.worker().whole(), "all has arrived")
    heard = collector.worker()
    lost = sum(row["count"] for row in heard.of("drop") if row)
    told = [row for row in heard.of("event") if row["name"] != "gc"]  # without what the collector did by itself
    assert len(heard.phases()) + len(heard.of("start")) + len(told) + lost == 3 * 4_000
    assert not heard.conflicts


def test_of_many_shippers_that_start_at_once_one_serves_and_nothing_comes_twice(
    site: Site, collector: Collector
) -> None:
    others = [
        site.python("import sys; from roundwatch import shipper; sys.exit(shipper.main(['--linger-s', '3']))")
        for _ in range(5)
    ]
    site.run(TRAINING)
    until(lambda: "finish" in collector.worker().turns() and collector.worker().whole(), "all has arrived")
    assert len(collector.worker().phases()) == 1_000
    assert not collector.worker().conflicts
    until(lambda: sum(process.poll() is None for process in others) <= 1, "the others have left")
    assert [process.returncode for process in others if process.poll() is not None].count(0) >= 4
    seen = [batch["stream"] for request in collector.requests for batch in request["batches"]]
    assert len({stream for stream in seen if collector.streams[stream].identity["kind"] == "host"}) == 1


def test_a_shipper_that_is_told_to_leave_does_so_while_its_server_is_silent(tmp_path: Path) -> None:
    server = BadServer(None)
    site = Site(tmp_path / "spool", server.url)
    try:
        shipper = site.shipper()
        site.run(TRAINING)
        shipper.send_signal(signal.SIGTERM)
        assert shipper.wait(ENDS_S) == 0
    finally:
        site.close()
        server.close()
