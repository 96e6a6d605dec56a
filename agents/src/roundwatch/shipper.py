"""The one shipper process of a host, user and destination: empties rings, keeps the spool, samples and sends."""

import argparse
import contextlib
import logging
import logging.handlers
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from roundwatch import folders, identity, launch, locks, readings
from roundwatch.clock import Clock
from roundwatch.courier import Courier
from roundwatch.folders import Destination, make_private
from roundwatch.opening import check_url
from roundwatch.post import Post
from roundwatch.preparing import Preparer
from roundwatch.samplers import host_samplers
from roundwatch.samplers.base import Reading
from roundwatch.samplers.loop import SamplerLoop
from roundwatch.spool import Spool
from roundwatch.writers import Writers

logger = logging.getLogger("roundwatch")
PERIOD_S = 0.2
SYNC_S = 1.0
LINGER_S = 60.0
LAST_SEND_S = 3.0
LOCK_TRIES_S = 2.0
LOG_BYTES = 256 << 10


class Shipper:
    """Everything of one destination. `run` returns when it is told to stop, or has nobody left to serve."""

    def __init__(self, destination: Destination, *, stays: bool = False, linger_s: float = LINGER_S) -> None:
        self._stays, self._linger_s = stays, linger_s
        self._boot = boot_id()
        self._spool = Spool(destination.folder)
        self._writers = Writers(make_private(destination.rings), self._spool, self._boot)
        self._clock = Clock()
        self._stop = threading.Event()
        self._courier: Courier | None = None
        if destination.url:
            preparer = Preparer(self._spool, self._clock, identity.machine(), self._boot, self._writers.progress)
            self._courier = Courier(Post(destination.url, destination.token), preparer, self._clock)

    def run(self) -> None:
        """Serves until it is told to stop, or until nobody has written for the time it lingers."""
        self._take_up()
        host = readings.host_stream(self._spool, self._boot)
        loop = SamplerLoop(host_samplers(), partial(self._emit, host.id))
        loop.start()
        sender = threading.Thread(target=self._courier.run, daemon=True) if self._courier else None
        if sender is not None:
            sender.start()
        try:
            self._serve()
        finally:
            loop.stop()
            self._close(host.id, sender)

    def stop(self) -> None:
        """Tells `run` to come to its end."""
        self._stop.set()

    def served(self) -> int:
        """How many training processes there are."""
        return len(self._writers.all)

    def _take_up(self) -> None:
        with self._spool.lock:
            rings = self._writers.open_rings()
            resume = self._spool.find({name: (ring.tail(), ring.number()) for name, ring in rings.items()})
            for name, reader in rings.items():
                self._writers.serve(name, reader, resume.get(name))

    def _serve(self) -> None:
        busy = synced = time.monotonic()
        while not self._stop.is_set():
            self._look()
            now = time.monotonic()
            if now - synced >= SYNC_S:
                synced = now
                self._keep()
            busy = now if self._writers.all else busy
            if not self._stays and now - busy >= self._linger_s:
                return
            self._stop.wait(PERIOD_S)

    def _look(self) -> None:
        with self._spool.lock:
            count = self._writers.look()
            now = time.monotonic_ns()
            for stream in self._spool.streams.values():
                if stream.identity.kind == "host" and stream.alive:
                    stream.seen_ns = now
        if count and self._courier is not None:
            self._courier.wake()

    def _keep(self) -> None:
        """Once a second: what is written is made safe, what is stored is forgotten, and the disk kept from filling."""
        self._spool.sync()
        with self._spool.lock:
            for stream in [stream for stream in self._spool.streams.values() if stream.done]:
                self._spool.forget(stream)
        self._spool.shrink()

    def _emit(self, host: str, taken: list[Reading], time_ns: int) -> None:
        with self._spool.lock:
            stream = self._spool.streams.get(host)
            if stream is not None:
                readings.append(stream, taken, time_ns)
            for writer in self._writers.all.values():
                writer.sample(time_ns)

    def _close(self, host: str, sender: threading.Thread | None) -> None:
        """Takes what the rings still hold, and gives what waits a last, short chance."""
        with self._spool.lock:
            self._writers.look()
            stream = self._spool.streams.get(host)
            if stream is not None:
                stream.insert([readings.finish(time.monotonic_ns())])
                stream.end(time.monotonic_ns())
        deadline = time.monotonic() + LAST_SEND_S
        if self._courier is not None and sender is not None:
            while sender.is_alive() and self._waiting() and time.monotonic() < deadline:
                self._courier.wake()
                time.sleep(0.02)
            self._courier.stop()
            sender.join(max(0.0, deadline - time.monotonic()))
        self._keep()
        for writer in self._writers.all.values():
            writer.release()

    def _waiting(self) -> bool:
        with self._spool.lock:
            return any(stream.pending for stream in self._spool.streams.values())


def boot_id() -> str:
    """What tells this boot of the machine from every other: monotonic times of another mean nothing here."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def destination_of(environment: dict[str, str]) -> Destination:
    """The destination that ROUNDWATCH_SPOOL, ROUNDWATCH_URL and ROUNDWATCH_TOKEN name. Raises ValueError."""
    url = environment.get("ROUNDWATCH_URL", "")
    spool = folders.spool(environment.get("ROUNDWATCH_SPOOL", ""))
    return Destination(spool, check_url(url), environment.get("ROUNDWATCH_TOKEN", "")) if url else Destination(spool)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a shipper in the foreground, or with --detach as a process of its own. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m roundwatch.shipper", description=__doc__)
    parser.add_argument("--detach", action="store_true", help="leave the starting process at once")
    parser.add_argument("--stay", action="store_true", help="the host's daemon: stay without a writer to serve")
    parser.add_argument("--linger-s", type=float, default=LINGER_S, help="how long to outlive the last writer")
    options = parser.parse_args(argv)
    if options.detach and os.fork():
        os._exit(0)
    try:
        destination = destination_of(dict(os.environ))
        folder = make_private(destination.folder)
    except (OSError, ValueError) as error:
        print(f"roundwatch: {error}", file=sys.stderr)
        return 2
    _log_to(folder / "shipper.log", also_here=not options.detach)
    return serve(destination, stays=options.stay, linger_s=options.linger_s)


def serve(destination: Destination, *, stays: bool, linger_s: float = LINGER_S) -> int:
    """Runs a shipper if no other serves this destination; a daemon waits for its turn. Returns the exit code."""
    stop = threading.Event()
    shipper: list[Shipper] = []

    def on_signal(number: int, _: object) -> None:
        stop.set()
        for one in shipper:
            one.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    fd = os.open(destination.folder / launch.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    while _lock(fd, stop, stays=stays):
        one = Shipper(destination, stays=stays, linger_s=linger_s)
        shipper.append(one)
        if stop.is_set():
            one.stop()
        one.run()
        locks.drop(fd)
        # A writer that saw the lock held has its ring in place: nobody else will serve it.
        if stop.is_set() or not list(destination.rings.glob("*.ring")):
            break
    os.close(fd)
    return 0


def _lock(fd: int, stop: threading.Event, *, stays: bool) -> bool:
    deadline = time.monotonic() + LOCK_TRIES_S
    while not stop.is_set():
        if locks.take(fd):
            return True
        if not stays and time.monotonic() > deadline:
            return False
        stop.wait(0.1)
    return False


def _log_to(path: Path, *, also_here: bool) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", handlers=[])
    with contextlib.suppress(OSError):
        file = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1)
        path.chmod(0o600)
        file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(file)
    if also_here:
        logger.addHandler(logging.StreamHandler())
    logger.setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main())
