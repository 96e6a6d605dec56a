"""Rings that nobody will come for, because their server or token is used no more: moved to disk, out of memory."""

import logging
import os
from pathlib import Path

from roundwatch import folders, launch, locks
from roundwatch.spool import Spool
from roundwatch.writers import Writers

logger = logging.getLogger("roundwatch")


def tidy(own: Path, boot: str) -> None:
    """Empties the rings of this user's other destinations where no process writes any more and no shipper is at work.

    `own` is the folder of the caller's rings. What they hold goes into their spool, where `roundwatch sync` finds it;
    rings whose spool was removed go as well. Never raises.
    """
    for link in own.parent.glob(f"*{folders.LINK}"):
        rings = link.with_suffix("")
        try:
            if rings != own and not any(locks.holder_of(ring) for ring in rings.glob("*.ring")):
                _empty(rings, link.readlink(), boot)
        except Exception as error:  # noqa: BLE001 - others' leftovers keep nobody from his work
            logger.warning("%s: what was left there cannot be moved: %r", rings, error)


def _empty(rings: Path, spool: Path, boot: str) -> None:
    if not rings.is_dir():
        rings.with_suffix(folders.LINK).unlink()
    if not any(rings.glob("*.ring")):
        return
    if not spool.parent.is_dir():
        logger.warning("%s: its spool %s was removed, and so are its rings", rings, spool)
        for ring in rings.glob("*.ring"):
            ring.unlink(missing_ok=True)
        return
    folders.make_private(spool)
    fd = os.open(spool / launch.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if locks.take(fd):
            _move(rings, spool, boot)
    finally:
        os.close(fd)


def _move(rings: Path, folder: Path, boot: str) -> None:
    spool = Spool(folder)
    writers = Writers(rings, spool, boot)
    writers.take_up()
    count = len(writers.all)
    writers.look()
    spool.sync()
    for stream in spool.streams.values():
        stream.journal.let_go()
    writers.release()
    logger.info("%s: what %d processes left there was moved to %s", rings, count, folder)
