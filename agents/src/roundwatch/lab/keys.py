"""The keys that people press while a scenario is played, each of which triggers a failure."""

import os
import select
import termios
import tty
from collections.abc import Mapping
from typing import Any


class Keys:
    """Reads single keys from standard input while the block lasts; `failures` says which there are, and of what."""

    def __init__(self, failures: Mapping[str, tuple[str, float]]) -> None:
        self._failures = failures
        self._pressed: set[str] = set()
        self._before: list[Any] | None = None
        self._open = bool(failures)

    def __enter__(self) -> "Keys":  # noqa: PYI034 - Self came with Python 3.11
        if self._open and os.isatty(0):
            self._before = termios.tcgetattr(0)
            tty.setcbreak(0)  # a key counts without Return, and Ctrl-C still interrupts
            print("press " + ", ".join(f"{key} ({what})" for key, (what, _) in self._failures.items()), flush=True)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    def pressed(self) -> frozenset[str]:
        """The keys pressed so far that mean something."""
        try:
            while self._open and select.select([0], [], [], 0)[0]:
                text = os.read(0, 1024).decode(errors="replace")
                self._open = bool(text)
                self._heard(text)
        except (OSError, ValueError):  # no standard input to wait for
            self._open = False
        return frozenset(self._pressed)

    def _heard(self, text: str) -> None:
        for key in sorted(set(text) & set(self._failures) - self._pressed):
            self._pressed.add(key)
            print(f"triggered: {self._failures[key][0]}", flush=True)
