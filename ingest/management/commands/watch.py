"""`manage.py watch`: the watcher as a process."""

import signal
import sys
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from ingest import watch, watch_open


class Command(BaseCommand):
    """Watches until it is told to stop, which it does at once: nothing it does is lost by stopping."""

    help = "Run the watcher: states, closing rounds, lost judgements, partitions and retention."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run quick chores here; beside them slow ones, and the watch over open phases, which waits for neither."""
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, _leave)
        signal.signal(signal.SIGINT, _leave)
        slow = watch.Watcher(watch.slow_chores(), watch.SLOW_LOCK)
        threading.Thread(target=slow.run, args=(stopped,), daemon=True, name="slow chores").start()
        open_phases = watch.Chore("open phases", watch_open.EVERY_S, watch_open.OpenPhases().look)
        live = watch.Watcher([open_phases], watch.OPEN_LOCK, tick_s=watch_open.EVERY_S / 2)
        threading.Thread(target=live.run, args=(stopped,), daemon=True, name="open phases").start()
        watch.Watcher(watch.quick_chores(), watch.QUICK_LOCK).run(stopped)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
