"""Loaded first by the Python processes of a product under test: ends one at a named point of its real code, when armed.

Nothing is replaced: the named functions run as they are, and before or after them a look is taken whether the file
`<ROUNDWATCH_FAULTS>/<point>` is there. Who finds it removes it and sends SIGKILL to itself, and first to its parent
where the file says "parent".
"""

import functools
import importlib.machinery
import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

# Where a process can be ended: the module, the name in it, and whether before or after it.
POINTS = {
    "web: read, not queued": ("ingest.api.writers", "Writers.put", "before"),
    "web: decoded, nothing written": ("ingest.api.writers", "_read", "after"),
    "web: transaction begun, before COPY": ("ingest.store.intake", "Intake.save", "before"),
    "web: all written, before COMMIT": ("ingest.store.telemetry", "_begin_runs", "after"),
    "web: after COMMIT, before the answer": ("ingest.store.telemetry", "write", "after"),
    "web: before the answer is sent": ("ingest.api.asgi", "send_answer", "before"),
    "web: after the answer is sent": ("ingest.api.asgi", "send_answer", "after"),
    "web: after COMMIT, before the feed": ("ingest.api.tellers", "tell_run", "before"),
    "web: before XADD": ("ingest.store.tell", "publish", "before"),
    "web: after XADD": ("ingest.store.tell", "publish", "after"),
    "web: before a round's task is started": ("ingest.api.tellers", "start", "before"),
    "web: while a snapshot is made": ("dashboard.live.snapshot", "_payloads", "before"),
    "worker: facts loaded, nothing judged": ("ingest.queries.judging", "closed", "after"),
    "worker: judged, before viewers are told": ("ingest.tasks", "publish", "before"),
    "watcher: rounds closed, nobody told": ("ingest.store.rounds", "close_ended", "after"),
    "watcher: before a task is asked for again": ("ingest.watch", "start", "before"),
}


def look(armed: Path) -> None:
    """Ends this process where the point is armed."""
    try:
        whom = armed.read_text()
        armed.unlink()
    except OSError:  # not armed, or another thread was first
        return
    if whom == "parent":
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def wrapped(function: Callable[..., Any], armed: Path, when: str) -> Callable[..., Any]:
    """The function with a look before or after it."""

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        if when == "before":
            look(armed)
        result = function(*args, **kwargs)
        if when == "after":
            look(armed)
        return result

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        if when == "before":
            look(armed)
        result = await function(*args, **kwargs)
        if when == "after":
            look(armed)
        return result

    return awaited if inspect.iscoroutinefunction(function) else plain


def instrument(module: ModuleType, folder: str) -> None:
    """Puts looks at the module's points."""
    for point, (name, path, when) in POINTS.items():
        if name == module.__name__:
            holder: Any = module
            *outer, last = path.split(".")
            for part in outer:
                holder = getattr(holder, part)
            setattr(holder, last, wrapped(getattr(holder, last), Path(folder) / point, when))


class Finder:
    """Finds the modules that have points as Python does, and instruments each when it has been executed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._modules = {name for name, _, _ in POINTS.values()}

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As importlib wants it."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name in self._modules else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_instrument(module: ModuleType) -> None:
                execute(module)
                instrument(module, self._folder)

            spec.loader.exec_module = execute_and_instrument  # type: ignore[method-assign]
        return spec


if folder := os.environ.get("ROUNDWATCH_FAULTS"):
    sys.meta_path.insert(0, Finder(folder))
