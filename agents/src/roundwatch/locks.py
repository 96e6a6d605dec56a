"""Signs of life: POSIX locks on files, which no forked child inherits and which fall however their process ends."""

import fcntl
import os
import struct
from pathlib import Path

FLOCK = struct.Struct("hhqqi")  # struct flock on 64-bit Linux: type, whence, start, length, pid


def take(fd: int) -> bool:
    """Takes the lock of an open file for this process; False where another process holds it."""
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def holder(fd: int) -> int:
    """The process that holds the lock of an open file; 0 for nobody, or for this process itself."""
    asked = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, _, _, _, pid = FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked)[: FLOCK.size])
    # A holder in another pid namespace reads as 0 or -1: still a holder.
    return 0 if kind == fcntl.F_UNLCK else (pid or -1)


def holder_of(path: Path) -> int:
    """`holder` for a file that need not exist."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return holder(fd)
    finally:
        os.close(fd)


def drop(fd: int) -> None:
    """Gives the lock of an open file back."""
    fcntl.lockf(fd, fcntl.LOCK_UN)
