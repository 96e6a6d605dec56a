"""Rings that nobody will come for, because their server or token is used no more: moved to disk, out of memory."""

import logging
import os
from pathlib import Path

from roundwatch import folders, launch, locks
from roundwatch.spool import Spool
from roundwatch.writers import Writers

logger = logging.getLogger("roundwatch")


def others(own: Path) -> list[Path]:
    """The folders of rings of this user's other destinations; `own` is the folder of the caller's."""
    links = own.parent.glob(f"*{folders.LINK}")
    return [rings for link in links if (rings := link.with_suffix("")) != own]


def tidy(rings: Path, boot: str) -> bool:
    """Empties one of these folders where no process writes any more and no shipper is at work.

    What its rings hold goes into its spool, where `roundwatch sync` finds it; rings whose spool was removed go as well.
    Where the disk does not take it, it stays in the rings. Returns whether that was work. Never raises.
    """
    try:
        if not any(locks.holder_of(ring) for ring in rings.glob("*.ring")):
            return _empty(rings, rings.with_suffix(folders.LINK).readlink(), boot)
    except FileNotFoundError:  # another shipper has tidied there
        pass
    except Exception as error:  # noqa: BLE001 - others' leftovers keep nobody from his work
        logger.warning("%s: what was left there cannot be moved: %r", rings, error)
    return False


def _empty(rings: Path, spool: Path, boot: str) -> bool:
    if not rings.is_dir():
        rings.with_suffix(folders.LINK).unlink()
    if not any(rings.glob("*.ring")):
        return False
    if not spool.parent.is_dir():
        logger.warning("%s: its spool %s was removed, and so are its rings", rings, spool)
        for ring in rings.glob("*.ring"):
            ring.unlink(missing_ok=True)
        return True
    folders.make_private(spool)
    fd = os.open(spool / launch.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if locks.take(fd, passing=True):
            _move(rings, spool, boot)
        return True
    finally:
        os.close(fd)


def _move(rings: Path, folder: Path, boot: str) -> None:
    spool = Spool(folder)
    writers = Writers(rings, spool, boot)
    try:
        writers.take_up()
        count = len(writers.all)
        writers.look()
        spool.sync(at_once=True)
        writers.look()  # removes the rings of what was saved only now
        stay = len(writers.all)
    finally:
        for stream in spool.streams.values():
            stream.journal.let_go()
        writers.release()
    logger.info("%s: what %d processes left there was moved to %s; %d stay there", rings, count - stay, folder, stay)
