"""A child process of ours: how it is started, watched, told to stop, and how it dies when we die."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAUNCH = Path(__file__).with_name("launch.py")


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """The user that a child runs as."""

    uid: int
    gid: int


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """What to run and how it ends.

    `death_signal` is what the kernel sends when we die; `stop_signal` is the polite request, and `insist_signal`
    follows it `insist_after_s` seconds later. Programs that `serves_others` are stopped after those they serve.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    folder: Path = Path("/")
    account: Account | None = None
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    death_signal: int = signal.SIGKILL
    stop_signal: int = signal.SIGTERM
    insist_signal: int = signal.SIGKILL
    insist_after_s: float = 5.0
    passed_fds: tuple[int, ...] = ()
    serves_others: bool = False


class Child:
    """One life of a program. Reads the clock and the process table, never blocks longer than it is told to."""

    def __init__(self, program: Program) -> None:
        """Start it; raises OSError when the log cannot be opened or no process can be made."""
        self.program = program
        self.started = time.monotonic()
        self._asked: float | None = None
        self._insisted = False
        with program.log.open("ab") as log:
            self.log_begins = log.tell()
            # A session of its own keeps a terminal's Ctrl-C for the supervisor, which stops things in order.
            self._process = subprocess.Popen(
                [*_launcher(program), *program.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=program.folder,
                env={**os.environ, **program.environment},
                pass_fds=program.passed_fds,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id; the launcher execs, so it is the program's own."""
        return self._process.pid

    @property
    def age_s(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self.started

    @property
    def alive(self) -> bool:
        """Whether it runs; a dead one is reaped by asking."""
        return self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Exit code, minus the signal's number, or None while it runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Send the polite signal once, and the insisting one when its time has come; call it repeatedly."""
        if not self.alive:
            return
        now = time.monotonic()
        if self._asked is None:
            self._asked = now
            self._process.send_signal(self.program.stop_signal)
        elif not self._insisted and now - self._asked >= self.program.insist_after_s:
            self._insisted = True
            self._process.send_signal(self.program.insist_signal)

    def kill(self) -> None:
        """Send SIGKILL and reap."""
        if self.alive:
            self._process.kill()
            self._process.wait()


def _launcher(program: Program) -> Sequence[str]:
    account = program.account
    as_whom = ["--uid", str(account.uid), "--gid", str(account.gid)] if account else []
    death = ["--parent", str(os.getpid()), "--death-signal", str(int(program.death_signal))]
    return [sys.executable, "-I", "-S", str(_LAUNCH), *death, *as_whom, "--"]


def stop_all(children: Sequence[Child], within_s: float) -> None:
    """Ask every child to stop, insist as their programs say, and kill what is left after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and any(child.alive for child in children):
        for child in children:
            child.ask_to_stop()
        time.sleep(0.02)
    for child in children:
        child.kill()
