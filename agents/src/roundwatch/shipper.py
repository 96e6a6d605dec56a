"""The shipper's door: the process of its own that `init` starts, the host's daemon, and `sync` for offline spools."""

import argparse
import contextlib
import gc
import logging
import logging.handlers
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from roundwatch import folders, launch, locks
from roundwatch.folders import Destination
from roundwatch.opening import check_token, check_url
from roundwatch.shipping import LINGER_S, Shipper
from roundwatch.syncing import Outcome, sync

__all__ = ["Outcome", "main", "serve", "sync"]

logger = logging.getLogger("roundwatch")
LOCK_TRIES = 20
TRY_AGAIN_S = 0.1
LOG_BYTES = 256 << 10
BROKEN = 1
NICE = 10
YOUNG = 20_000  # objects more than before at which cycles are looked for


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a shipper in the foreground, or with --detach as a process of its own. Returns the exit code."""
    options = _parser().parse_args(argv)
    if options.detach:
        if os.fork():
            os._exit(0)
        os.setsid()
    os.umask(0o077)
    try:
        destination = destination_of(dict(os.environ))
        destination.prepare()
    except (OSError, ValueError) as error:
        print(f"roundwatch: {error}", file=sys.stderr)
        return 2
    _log_to(destination.folder / folders.LOG, also_here=not options.detach)
    return serve(destination, stays=options.stay or options.beside, waits=options.stay, linger_s=options.linger_s)


def serve(destination: Destination, *, stays: bool, waits: bool, linger_s: float = LINGER_S) -> int:
    """Runs a shipper until SIGTERM, or until nobody writes any more. Returns the exit code: 1 where it could not go on.

    `stays`: it goes on with nobody to serve. `waits`: while another shipper serves this destination it waits for its
    turn; otherwise it leaves at once.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    _stand_back()
    fd = os.open(destination.folder / launch.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # What was imported stays; and a request's objects are gone before they are worth to be looked for.
    gc.freeze()
    gc.set_threshold(YOUNG)
    try:
        while _lock(fd, stop, waits=waits):
            shipper = Shipper(destination, stop, stays=stays, linger_s=linger_s)
            if not shipper.run():
                return BROKEN
            locks.drop(fd)
            # A writer that saw the lock held has its ring in place, and nobody else will serve it.
            if stop.is_set() or not {ring.stem for ring in destination.rings.glob("*.ring")} - shipper.passed_over:
                break
    finally:
        os.close(fd)
    return 0


def destination_of(environment: dict[str, str]) -> Destination:
    """The destination that ROUNDWATCH_SPOOL, ROUNDWATCH_URL and ROUNDWATCH_TOKEN name. Raises ValueError."""
    url = environment.get("ROUNDWATCH_URL", "")
    spool = folders.spool(environment.get("ROUNDWATCH_SPOOL", ""))
    token = check_token(environment.get("ROUNDWATCH_TOKEN", ""))
    return Destination(spool, check_url(url), token) if url else Destination(spool)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m roundwatch.shipper", description=__doc__)
    parser.add_argument("--detach", action="store_true", help="leave the starting process at once")
    parser.add_argument("--stay", action="store_true", help="the host's daemon: go on with nobody to serve")
    parser.add_argument(
        "--beside", action="store_true", help="the same, but leave where another shipper serves already"
    )
    parser.add_argument("--linger-s", type=float, default=LINGER_S, help="how long to outlive the last writer")
    return parser


def _stand_back() -> None:
    """Lets trainings have the processor first: at a barrier, everybody waits for the rank whose core we take.

    Where Linux groups processes by session (autogroup), a process is weighed only within its session, and sessions by
    a number of their own; that of a session which others share is not ours to change.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), NICE))
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(NICE))


def _lock(fd: int, stop: threading.Event, *, waits: bool) -> bool:
    tries = 0
    while not stop.is_set():
        if locks.take(fd):
            return True
        tries += 1
        if not waits and tries > LOCK_TRIES:
            return False
        stop.wait(TRY_AGAIN_S)
    return False


def _log_to(path: Path, *, also_here: bool) -> None:
    with contextlib.suppress(OSError):
        file = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1)
        file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(file)
    if also_here:
        logger.addHandler(logging.StreamHandler())
    logger.setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main())
