"""What a shipper does all day: empties rings, keeps the spool, samples the host, and has the courier send."""

import contextlib
import logging
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from roundwatch import folders, identity, launch, leftovers, readings
from roundwatch.clock import Clock
from roundwatch.courier import Courier
from roundwatch.folders import Destination
from roundwatch.post import Post
from roundwatch.preparing import Preparer
from roundwatch.samplers import host_threads
from roundwatch.samplers.base import Reading
from roundwatch.samplers.loop import SamplerLoop, period
from roundwatch.spool import Spool
from roundwatch.writers import Writers

logger = logging.getLogger("roundwatch")
PERIOD_S = 0.2
ASKED_PERIOD_S = 0.02  # while a process writes what it was asked for
SYNC_S, KEEP_S = 0.5, 1.0
LINGER_S = 60.0
LAST_SEND_S, SILENT_S = 5.0, 1.5  # at the end: altogether, and while the server takes nothing


class Shipper:
    """Everything of one destination."""

    def __init__(
        self, destination: Destination, stop: threading.Event, *, stays: bool = False, linger_s: float = LINGER_S
    ) -> None:
        self._stays, self._linger_s = stays, linger_s
        self._destination = destination
        self._folder = destination.folder
        self._boot = boot_id()
        self._spool = Spool(self._folder)
        self._writers = Writers(destination.prepare(), self._spool, self._boot)
        self._clock = Clock()
        self._stop = stop
        self._left = leftovers.others(destination.rings)
        self._courier: Courier | None = None
        if destination.url:
            preparer = Preparer(self._spool, self._clock, identity.machine(), self._boot, self._writers.progress)
            post = Post(destination.url, destination.token)
            self._courier = Courier(post, preparer, self._clock, self._asked)

    def run(self) -> bool:
        """Serves until it is told to stop, or until nobody has written for the time it lingers.

        False where it ends because its courier is broken: what waits stays for the next shipper.
        """
        with self._spool.lock:
            self._writers.take_up()
        host = readings.host_stream(self._spool, self._boot)
        loop = SamplerLoop(host_threads(), partial(self._emit, host.id), period())
        loop.start()
        sender = threading.Thread(target=self._courier.run, daemon=True) if self._courier else None
        if sender is not None:
            sender.start()
        try:
            self._serve()
        finally:
            loop.stop()
            self._close(host.id, sender)
        return not self._broken

    @property
    def passed_over(self) -> set[str]:
        """The rings that are another version's."""
        return self._writers.passed_over

    @property
    def _broken(self) -> bool:
        return self._courier is not None and self._courier.broken

    def _serve(self) -> None:
        busy = kept = synced = time.monotonic()
        while not self._stop.is_set() and not self._broken:
            came = self._look()
            self._spool.shrink()
            if came and self._courier is not None:
                self._courier.wake()  # not before: it wants the same lock
            now = time.monotonic()
            if now - synced >= (KEEP_S if self._courier is None else SYNC_S):
                synced = now
                self._spool.sync(patient=self._courier is not None)
            if now - kept >= KEEP_S:
                kept = now
                self._keep()
                self._tidy_others()
            busy = now if self._writers.all else busy
            if not self._stays and now - busy >= self._linger_s:
                return
            self._stop.wait(ASKED_PERIOD_S if self._writers.asked else PERIOD_S)

    def _look(self) -> int:
        """Takes what the rings hold. Returns how many records came."""
        with self._spool.lock:
            count = self._writers.look(refused=self._courier is not None and self._courier.hopeless)
            now = time.monotonic_ns()
            for stream in self._spool.streams.values():
                if stream.identity.kind == "host" and stream.alive:
                    stream.seen_ns = now
        return count

    def _asked(self, wishes: list[Any]) -> None:
        """What the server's answer asks for."""
        with self._spool.lock:
            self._writers.ask(wishes)

    def _keep(self) -> None:
        """Once a second: what is stored is forgotten."""
        self._spool.tidy()
        with contextlib.suppress(OSError):  # the disk may have been full before
            if not (self._folder / folders.NOTE).exists():
                self._destination.leave_note()
            self._tell_refusal()

    def _tidy_others(self) -> None:
        """What nobody comes for at other destinations: one that takes work at a time, for ours are not served then."""
        while self._left and not leftovers.tidy(self._left.pop(), self._boot):
            pass

    def _tell_refusal(self) -> None:
        """Trainings too short to hear of a refused token are told of it by the next ones, when they begin."""
        if self._courier is None:
            return
        note = self._folder / launch.REFUSED
        if self._courier.hopeless:
            note.touch(mode=0o600)
        elif self._courier.met:
            note.unlink(missing_ok=True)

    def _emit(self, host: str, taken: list[Reading], time_ns: int) -> None:
        with self._spool.lock:
            stream = self._spool.streams.get(host)
            if stream is not None:
                readings.append(stream, taken, time_ns)
            self._writers.sample(time_ns)

    def _close(self, host: str, sender: threading.Thread | None) -> None:
        """Takes what the rings still hold, and gives what waits a last, short chance."""
        with self._spool.lock:
            self._writers.look()
            stream = self._spool.streams.get(host)
            if stream is not None:
                stream.insert([readings.finish(time.monotonic_ns())])
                stream.end()
        if self._courier is not None and sender is not None:
            self._send_last(self._courier, sender)
        self._spool.sync(at_once=True)
        self._keep()
        with self._spool.lock:
            self._writers.look()  # removes the rings of what was saved or stored only now
            if left := sum(stream.unsaved for stream in self._spool.streams.values()):
                logger.warning("spool %s: the disk has not taken %d records", self._spool.folder, left)
            self._writers.release()

    def _send_last(self, courier: Courier, sender: threading.Thread) -> None:
        """Goes on as long as the server takes something; what it does not take stays in the spool."""
        deadline, heard, before = time.monotonic() + LAST_SEND_S, time.monotonic(), -1
        while sender.is_alive() and (left := self._spool.waiting()):
            now = time.monotonic()
            heard, before = (heard, before) if left == before else (now, left)
            if now >= min(deadline, heard + SILENT_S):
                break
            courier.wake()
            time.sleep(0.02)
        courier.stop()
        sender.join(0.2)
        courier.close()


def boot_id() -> str:
    """What tells this boot of the machine from every other: monotonic times of another mean nothing here."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
