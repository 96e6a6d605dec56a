"""Ships what offline trainings left in a spool folder, in the foreground, and says what became of it."""

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from roundwatch import folders, identity, launch, locks
from roundwatch.clock import Clock
from roundwatch.courier import Courier
from roundwatch.folders import Destination
from roundwatch.inventory import Part, parts
from roundwatch.opening import check_token, check_url
from roundwatch.post import Post
from roundwatch.preparing import Preparer
from roundwatch.shipping import boot_id
from roundwatch.spool import Spool
from roundwatch.writers import Writers

PATIENCE_S = 60.0
HAND_OVER_S = 10.0


@dataclass(slots=True)
class Outcome:
    """Counts of streams and records: `stored` on the server, `refused` by it, `left` here; `trouble` says why.

    `shipped` are the folders that were shipped, `others` those that were not asked for and hold something.
    """

    streams: int = 0
    stored: int = 0
    refused: int = 0
    left: int = 0
    trouble: str = ""
    shipped: list[Part] = field(default_factory=list)
    others: list[Part] = field(default_factory=list)


def sync(
    folder: Path | str,
    url: str,
    token: str,
    *,
    keys: Collection[str] = (),
    everything: bool = False,
    patience_s: float = PATIENCE_S,
) -> Outcome:
    """Ships what lies in `folder`: what was recorded offline, and what was recorded for this very server and token.

    `keys` names further folders in it, recorded for another server or token (one that was replaced); `everything`
    stands for all of them. It stops when everything is stored, when the server refuses the token, or when it gave no
    answer for `patience_s`. Raises ValueError for a bad URL or token, FileNotFoundError without such a folder.
    """
    spool = Path(folder).absolute()
    if not spool.is_dir():
        raise FileNotFoundError(f"there is no folder {spool}")
    outcome = Outcome()
    server, token = check_url(url), check_token(token)
    there = parts(spool)
    if unknown := sorted(set(keys) - {part.path.name for part in there}):
        raise FileNotFoundError(f"there is no {', '.join(unknown)} in {spool}")
    # What came from another host or was moved is told by the note in it.
    asked = {Destination(spool, server, token).key, *keys}
    for part in there:
        if everything or not part.server or part.path.name in asked:
            outcome.shipped.append(part)
        elif part.streams:
            outcome.others.append(part)
    for part in outcome.shipped:
        with _alone(part.path) as free:
            if free:
                _ship(part.path, server, token, patience_s, outcome)
            else:
                outcome.trouble = f"another shipper is at work in {part.path}"
    return outcome


@contextmanager
def _alone(part: Path) -> Iterator[bool]:
    """Holds the lock of a folder; the shipper that holds it is asked to leave, and comes back when it is needed."""
    fd = os.open(part / launch.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + HAND_OVER_S
        asked = 0
        while not (free := locks.take(fd)) and time.monotonic() < deadline:
            pid = locks.holder(fd) if locks.stays(fd) else 0
            if pid > 0 and pid != asked:
                os.kill(pid, signal.SIGTERM)
                asked = pid
            time.sleep(0.05)
        yield free
    finally:
        os.close(fd)


def _ship(part: Path, url: str, token: str, patience_s: float, outcome: Outcome) -> None:
    boot = boot_id()
    spool, clock = Spool(part), Clock()
    writers = Writers(folders.rings_of(part), spool, boot)
    writers.take_up()
    writers.look()
    outcome.streams += len(spool.streams)
    preparer = Preparer(spool, clock, identity.machine(), boot, writers.progress)
    courier = Courier(Post(url, token), preparer, clock)
    heard = time.monotonic()
    while spool.waiting():
        pause = courier.step()
        if not courier.trouble:
            heard = time.monotonic()
        elif courier.hopeless or time.monotonic() + pause - heard > patience_s:
            outcome.trouble = courier.trouble
            break
        if courier.trouble:
            time.sleep(pause)
    courier.close()
    outcome.stored += preparer.stored_records
    outcome.refused += preparer.refused
    outcome.left += spool.waiting()
    spool.sync(at_once=True)
    spool.tidy()
    writers.look()  # removes the rings of what was saved or stored only now
    writers.release()
