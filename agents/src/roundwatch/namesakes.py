"""Another living process of this host that records as the same worker: found by the rings, and told in words."""

import json
import os
from pathlib import Path

from roundwatch import layout, locks, misuse, wire


class _Own:
    """The rings that this process made: to open and close one of them would drop the lock that says that it writes."""

    def __init__(self) -> None:
        self.rings: set[Path] = set()


_own = _Own()


def look(ring: Path, who: wire.Identity) -> None:
    """Warns once where another process is this very worker: two would be drawn as one. Called with the ring in place.

    So of two that begin at once at least the later one sees the other. Never raises.
    """
    _own.rings.add(ring)
    try:
        found = any(_is(other, who) for other in ring.parent.glob("*.ring") if other not in _own.rings)
    except OSError:  # a shipper tidies there meanwhile
        return
    if found:
        misuse.tell_once(
            f"another process records as worker {who.worker!r} of run {who.run!r}: they are shown as one; "
            "give each process its own worker or rank (RANK alone is not believed, it may be any program's)"
        )


def _is(ring: Path, who: wire.Identity) -> bool:
    """Whether a living process writes there as this worker; one whose memory is its own cannot be asked."""
    if ring.is_symlink():
        return False
    fd = os.open(ring, os.O_RDWR | os.O_CLOEXEC)
    try:
        text = os.pread(fd, layout.IDENTITY_BYTES, layout.IDENTITY_AT).rstrip(b"\0")
        said = json.loads(text)["identity"]
        same = all(said[name] == getattr(who, name) for name in ("project", "run", "worker"))
        return same and locks.holder(fd) != 0
    except (ValueError, KeyError, TypeError):  # damaged, or another version's
        return False
    finally:
        os.close(fd)
