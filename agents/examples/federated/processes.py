"""How the processes of the example end: never later than the one that started them."""

import os
import signal
import sys
import threading

GRACE_S = 1.0


def end_with_parent() -> None:
    """Ends this process soon after its parent is gone, which closes the pipe that is our standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent as well, and it tells us to end
    threading.Thread(target=_watch_parent, name="parent-watch", daemon=True).start()


def _watch_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE_S)  # the main thread may be long in one call
    os._exit(128 + signal.SIGTERM)
