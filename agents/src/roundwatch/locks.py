"""Signs of life: POSIX locks on files, which no forked child inherits and which fall however their process ends."""

import fcntl
import os
import struct
from pathlib import Path

FLOCK = struct.Struct("hhqqi")  # struct flock on 64-bit Linux: type, whence, start, length, pid


def take(fd: int, *, passing: bool = False) -> bool:
    """Takes the lock of an open file for this process; False where another process holds it.

    `passing`: for a short piece of work beside its own; who waits for the lock need not ask it to end (`stays`).
    """
    try:
        # One byte less keeps out all others, and can be told from a whole lock.
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 0, int(passing))
    except (BlockingIOError, PermissionError):
        return False
    return True


def holder(fd: int) -> int:
    """The process that holds the lock of an open file; 0 for nobody, or for this process itself."""
    return _held(fd)[0]


def stays(fd: int) -> bool:
    """Whether the process that holds the lock will go on holding it."""
    pid, first = _held(fd)
    return pid != 0 and first == 0


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


def _held(fd: int) -> tuple[int, int]:
    """The process that holds the lock, 0 for none, and the first byte that it holds."""
    asked = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    kind, _, first, _, pid = FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked)[: FLOCK.size])
    # A holder in another pid namespace reads as 0 or -1: still a holder.
    return (0, 0) if kind == fcntl.F_UNLCK else (pid or -1, first)
