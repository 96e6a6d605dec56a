"""Starts the coordinator and the trainers, and waits for them."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from types import FrameType

from federated import starvation
from federated.options import Options

NICENESS = 5  # whoever watches goes first
LAST_STEPS_S = 10.0  # from the last update to the last trainer's evaluation
END_S = 3.0
# Five processes share this machine: each computes in one thread, unless the environment says otherwise.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def launch(options: Options, *, script: str) -> int:
    """Runs the whole training; returns 0 when it went through, with or without a trainer that was to die."""
    signal.signal(signal.SIGTERM, _leave)
    starvation.remove_old_quotas()
    os.nice(NICENESS)
    children: list[subprocess.Popen[bytes]] = []
    try:
        with socket.create_server(("127.0.0.1", 0), backlog=64) as door:
            port = door.getsockname()[1]
            print(f"run {options.run_id}: {options.name}", flush=True)
            children.append(_start(options, script, "coordinator", port, socket=door.fileno()))
        children += [_start(options, script, "trainer", port, trainer=k) for k in range(options.trainers)]
        _wait(children)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        _end(children)
        starvation.remove_old_quotas()
    codes = [child.returncode for child in children]
    if options.die_in_round is not None and codes[1 + options.die_trainer] == -signal.SIGKILL:
        codes[1 + options.die_trainer] = 0
    return 1 if any(codes) else 0


def _start(options: Options, script: str, role: str, port: int, **own: int) -> subprocess.Popen[bytes]:
    """One process of the training; it inherits the listening socket if it is given one."""
    chosen = {"role": role, "port": port, "run_id": options.run_id, **own}
    arguments = [f"--{key.replace('_', '-')}={value}" for key, value in chosen.items()]
    return subprocess.Popen(
        [sys.executable, script, *sys.argv[1:], *arguments],
        stdin=subprocess.PIPE,
        env=ONE_THREAD | os.environ,
        pass_fds=[own["socket"]] if "socket" in own else [],
    )


def _wait(children: list[subprocess.Popen[bytes]]) -> None:
    """Returns when the training is over, or cannot go on. It goes on without trainers that were killed."""
    coordinator, *trainers = children
    while coordinator.poll() is None and any(trainer.poll() is None for trainer in trainers):
        if any((trainer.returncode or 0) > 0 for trainer in trainers):
            return
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    if not coordinator.returncode:
        for child in children:
            _ended(child, LAST_STEPS_S)


def _ended(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits for so long; whether it has ended."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    return child.returncode is not None


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.terminate()
    for child in children:
        if not _ended(child, END_S):
            child.kill()
            child.wait()


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
