"""The step between the supervisor and each of its children: drop to a user, tie to the parent's life, then exec.

Run as a script of its own (standard library only, in isolated mode), because this must happen after the fork and
before the program: the kernel forgets the death signal when a process changes its user.
"""

import argparse
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def _drop_to(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def _die_with(parent: int, death_signal: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, death_signal) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before the call: no signal will ever come
        sys.exit(1)


def main() -> None:
    """Become the given command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--death-signal", type=int, required=True)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    split = sys.argv.index("--")
    given, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    if given.uid is not None:
        _drop_to(given.uid, given.gid)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # the supervisor waits with its signals blocked
    _die_with(given.parent, given.death_signal)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
