"""Keeps a set of programs running: restarts what dies, and leaves nothing behind however it ends itself."""

import ctypes
import dataclasses
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from dashboard.project import warden
from dashboard.project.children import Child, Program, stop_all
from dashboard.project.datadir import Refused

_STOPS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_PR_SET_CHILD_SUBREAPER = 36
_LONGEST_PAUSE_S = 5.0
_STEADY_AFTER_S = 10.0
_LARGEST_LOG_BYTES = 32 * 1024 * 1024
# A program that dies so often before it was ever ready will not become ready by more of the same.
_DEATHS_TO_GIVE_UP = 3
_DEATHS_TO_SAY = 5


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked us to end
    """A signal asked the supervisor to stop."""


@dataclasses.dataclass(slots=True)
class Unit:
    """A program under supervision, and what is known of its lives.

    `ready` tells whether it does its work; `lasting` whether its end is a death to be mended (a demo may finish);
    `awaited` whether somebody waits for its end, and says what came of it.
    """

    name: str
    start: Callable[[], Child]
    ready: Callable[[], bool] = lambda: True
    lasting: bool = True
    awaited: bool = False
    child: Child | None = None
    log: Path | None = None
    deaths: int = 0
    start_at: float = 0.0
    exit_status: int | None = None

    @property
    def over(self) -> bool:
        """Whether it ended and need not run again."""
        return not self.lasting and self.exit_status is not None

    def begin(self) -> None:
        """Start its next life; raises OSError or Refused."""
        self.child = self.start()
        self.log = self.child.program.log

    def note_death(self, now: float) -> None:
        """Decide when it may start again: at once after a steady life, later and later otherwise."""
        steady = self.child is not None and now - self.child.started >= _STEADY_AFTER_S
        self.deaths = 1 if steady else self.deaths + 1
        pause = 0.0 if self.deaths == 1 else min(_LONGEST_PAUSE_S, 0.25 * 2 ** (self.deaths - 2))
        self.start_at = now + pause
        self.child = None


class Supervisor:
    """Runs units until a signal comes. Single-threaded: the kernel ties each child's life to this thread's."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """Take the way to tell progress to a person."""
        self._say = say
        self._units: list[Unit] = []
        self._warden: subprocess.Popen[bytes] | None = None
        self._next_log_look = 0.0
        self._asked_to_stop = False
        self.mark = secrets.token_hex(16)

    def __enter__(self) -> Self:
        """Wait for signals instead of being interrupted by them, adopt orphans, and start the warden."""
        # The mask is this thread's; a library's threads (numpy's) still take a signal that we do not wait for, such as
        # a second Ctrl-C while we stop, and without a handler of ours it would interrupt or end us half-way.
        for one in _STOPS:
            signal.signal(one, self._note_stop)
        signal.pthread_sigmask(signal.SIG_BLOCK, {*_STOPS, signal.SIGCHLD})
        # Orphans of our children become ours, so that somebody reaps them; process 1 of a container may not.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._start_warden()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything, whatever happened."""
        self.stop()

    def _note_stop(self, *_: object) -> None:
        self._asked_to_stop = True

    def _start_warden(self) -> None:
        self._warden = subprocess.Popen(
            [sys.executable, "-I", "-S", warden.__file__, self.mark],
            stdin=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )

    # --- starting ------------------------------------------------------------------------------------------------

    def bring_up(self, units: Sequence[Unit], within_s: float) -> None:
        """Start units together and return when all are ready, or over where they may end.

        Raises Refused when one is not in time or keeps dying, Stopped when a signal comes first.
        """
        self._units.extend(units)
        deadline = time.monotonic() + within_s
        waiting = list(units)
        while waiting:
            self.tick(0.02)
            waiting = [unit for unit in waiting if not (unit.over or _does_its_work(unit))]
            for unit in waiting:
                if unit.deaths >= _DEATHS_TO_GIVE_UP or time.monotonic() > deadline:
                    raise Refused(_why_not(unit))

    def run_once(self, program: Program, within_s: float) -> None:
        """Run a program to its end; raises Refused with its last words when it fails, Stopped on a signal."""
        before = program.log.stat().st_size if program.log.exists() else 0
        unit = Unit(program.name, start=lambda: Child(program), lasting=False, awaited=True)
        self._units.append(unit)
        deadline = time.monotonic() + within_s
        while not unit.over:
            self.tick(0.02)
            if time.monotonic() > deadline:
                raise Refused(f"{program.name} took longer than {within_s:g} s; its log is {program.log}.")
        self._units.remove(unit)
        if unit.exit_status != 0:
            raise Refused(_last_words(program.log, before) or f"{program.name} failed; its log is {program.log}.")

    # --- running -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Watch for ever; ends by raising Stopped."""
        while True:
            self.tick(1.0)

    def tick(self, wait_s: float) -> None:
        """Wait for a signal at most so long, then mend what is broken; raises Stopped when asked to end."""
        came = signal.sigtimedwait({*_STOPS, signal.SIGCHLD}, wait_s)
        if self._asked_to_stop or (came is not None and came.si_signo in _STOPS):
            raise Stopped
        now = time.monotonic()
        for unit in self._units:
            self._mend(unit, now)
        if self._warden is not None and self._warden.poll() is not None:
            self._start_warden()
        _reap_orphans({unit.child.pid for unit in self._units if unit.child} | self._warden_pid())
        if now >= self._next_log_look:
            self._next_log_look = now + 60.0
            self._cut_logs()

    def _mend(self, unit: Unit, now: float) -> None:
        if unit.child is not None and not unit.child.alive:
            ended, unit.exit_status = unit.child, unit.child.exit_status
            unit.note_death(now)
            if unit.lasting and (unit.deaths <= _DEATHS_TO_SAY or unit.deaths % 100 == 0):
                self._say(f"{unit.name} ended ({_how(unit.exit_status)}), starting it again")
            elif not unit.lasting and not unit.awaited:
                self._say(_farewell(unit, ended))
        if unit.child is None and not unit.over and now >= unit.start_at:
            try:
                unit.begin()
            except (OSError, Refused) as problem:
                unit.note_death(now)
                self._say(f"{unit.name} did not start: {problem}")

    def _warden_pid(self) -> set[int]:
        return {self._warden.pid} if self._warden else set()

    def _cut_logs(self) -> None:
        for unit in self._units:
            log = unit.log
            if log and log.exists() and log.stat().st_size > _LARGEST_LOG_BYTES:
                # Copied and cut, not renamed: the program holds it open and appends.
                shutil.copyfile(log, log.with_suffix(".log.1"))
                os.truncate(log, 0)

    # --- ending --------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End all units, last started first in groups, then whatever still bears our mark: below 10 s in all."""
        children = [unit.child for unit in self._units if unit.child]
        servers = [child for child in children if child.program.serves_others]
        stop_all([child for child in children if not child.program.serves_others], within_s=6.0)
        stop_all(servers, within_s=2.0)
        self._units = []
        if self._warden is not None and self._warden.stdin is not None:
            self._warden.stdin.close()  # what it takes for our death: it ends the rest and then itself
            self._warden.wait()
            self._warden = None
        _reap_orphans(set())


def _reap_orphans(ours: set[int]) -> None:
    """Collect dead processes that were handed to us; our own children are asked by their owners."""
    while True:
        try:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if dead is None or dead.si_pid in ours:
            return
        os.waitpid(dead.si_pid, os.WNOHANG)


def _does_its_work(unit: Unit) -> bool:
    return unit.child is not None and unit.child.alive and unit.ready()


def _farewell(unit: Unit, life: Child) -> str:
    if unit.exit_status == 0:
        return f"{unit.name} has finished; its log is {unit.log}"
    said = _last_words(life.program.log, life.log_begins)
    return f"{unit.name} ended ({_how(unit.exit_status)}{f': {said}' if said else ''}); its log is {unit.log}"


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"exit code {status}"


def _last_words(log: Path, since: int = 0) -> str:
    with log.open("rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("CommandError: ") if lines else ""


def _why_not(unit: Unit) -> str:
    if unit.log is None:
        return f"{unit.name} did not become ready."
    said = _last_words(unit.log)
    return f"{unit.name} did not become ready{f' ({said})' if said else ''}; its log is {unit.log}."
