"""`roundwatch run -- CMD`: one run id for all processes of CMD, an agent beside it, and its exit code."""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

from roundwatch import inventory, job_times, launch, locks, shipper
from roundwatch.cli import checks, options

NOT_FOUND, NOT_RUNNABLE = 127, 126
BEGIN_S, DRAIN_S = 5.0, 10.0
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

TEACHES = """
    All processes of the command are one run, also where nothing else gives them an id; each needs a worker or rank of
    its own, which torchrun and Slurm give. When the command has ended, what it recorded is shipped for 10 s at most;
    what is left waits in the spool folder, and a line says so. In a Slurm job it asks once when the job was submitted.

    examples:
      roundwatch run -- python train.py
      roundwatch run --site rack-3 -- torchrun --nproc-per-node 8 train.py
      roundwatch run --mode offline --spool /local/spool -- python train.py   (then: roundwatch sync /local/spool)

    exit codes:
      the command's own; 128 + n where signal n ended it
      126, 127  the command cannot be run; there is no such command
      2         a wrong option, or no command (a command may also exit with 2)
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns its exit code, 128 + n if signal n ended it, 126 or 127 if it could not start."""
    parser = _parser()
    given = parser.parse_args(arguments)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not command:
        parser.error("there is no command after --")
    options.apply_destination(given, parser)
    _set_identity(given)
    agent = None if os.environ.get("ROUNDWATCH_MODE") == "disabled" else _start_agent()
    try:
        return _run(command)
    finally:
        if agent is not None:
            _stop_agent(agent)
            _tell_what_waits()


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("run", __doc__ or "", TEACHES)
    options.add_destination(parser)
    parser.add_argument("--run-id", metavar="ID", help="the run's id (default: the launcher's, else a new one)")
    parser.add_argument("--worker", metavar="NAME", help="this worker's name, for a command of a single process")
    parser.add_argument("--site", metavar="NAME", help="where this host is")
    parser.add_argument("--mode", choices=("online", "offline", "disabled"), help="how the command records")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command and its arguments")
    return parser


def _set_identity(given: argparse.Namespace) -> None:
    """What the command's processes find in their environment. The launch id counts only where no launcher has one."""
    for name in ("run_id", "worker", "site", "mode"):
        value = getattr(given, name)
        if value is not None:
            os.environ[f"ROUNDWATCH_{name.upper()}"] = value
    if job_times.SUBMITTED not in os.environ and (submitted := job_times.ask_slurm(os.environ)):
        os.environ[job_times.SUBMITTED] = submitted
    os.environ.setdefault("ROUNDWATCH_LAUNCH_ID", f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}")


def _start_agent() -> subprocess.Popen[bytes]:
    """A shipper for as long as the command runs; where this host's agent is at work, it leaves at once."""
    environment = dict(os.environ)
    if environment.get("ROUNDWATCH_MODE") == "offline":
        environment.pop("ROUNDWATCH_URL", None)
    agent = subprocess.Popen(
        [sys.executable, "-m", "roundwatch.shipper", "--beside"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # it has a log file, and this is the command's terminal
        start_new_session=True,  # a terminal's Ctrl-C leaves it to ship what the command still records
    )
    _wait_for_shipper(agent, environment)
    return agent


def _wait_for_shipper(agent: subprocess.Popen[bytes], environment: dict[str, str]) -> None:
    """Returns once one is at work: else the command's first init would start another, which nobody here waits for."""
    try:
        lock = shipper.destination_of(environment).folder / launch.LOCK
    except ValueError:
        return  # init will say what is wrong
    deadline = time.monotonic() + BEGIN_S
    while agent.poll() is None and not locks.holder_of(lock) and time.monotonic() < deadline:
        time.sleep(0.01)


def _stop_agent(agent: subprocess.Popen[bytes]) -> None:
    """Lets it ship what is left: in a container nobody else would after us."""
    agent.terminate()
    try:
        agent.wait(DRAIN_S)
    except subprocess.TimeoutExpired:
        agent.kill()
        agent.wait()


def _tell_what_waits() -> None:
    """Says what the server has not taken, where nobody goes on trying."""
    try:
        destination = shipper.destination_of(dict(os.environ))
        part = next(part for part in inventory.parts(destination.spool) if part.path == destination.folder)
        offline = not destination.url or os.environ.get("ROUNDWATCH_MODE") == "offline"  # init has said so
        if offline or part.served or not part.streams:
            return
        what = f"{checks.streams(len(part.streams))}, {checks.in_bytes(part.size)}"
    except (OSError, ValueError, StopIteration):  # nothing was recorded, or a shipper tidies there
        return
    print(
        f"roundwatch run: {destination.url} has not taken all: {what} wait in {destination.spool}; "
        f"`roundwatch sync {destination.spool}` sends them, `roundwatch doctor` says why",
        file=sys.stderr,
    )


def _run(command: Sequence[str]) -> int:
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        print(f"roundwatch run: {command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE

    def pass_on(number: int, _frame: FrameType | None) -> None:
        # A terminal's Ctrl-C goes to the command as well; twice would cut its own ending short.
        if number != signal.SIGINT or not sys.stdin.isatty():
            process.send_signal(number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    code = process.wait()
    return code if code >= 0 else 128 - code
