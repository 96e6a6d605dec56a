"""A small house for tests to break: one lasting program, one that makes a grandchild in a session of its own.

Run as a script with a folder for logs; prints a line of JSON once both run, then watches until a signal comes. The
code of a third program, which may end, can follow the folder; it is brought up before watching.
"""

import json
import sys
import threading
from pathlib import Path

from dashboard.project.children import Child, Program
from dashboard.project.supervisor import Stopped, Supervisor, Unit
from dashboard.project.warden import MARK

FORKER = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:  # an orphan at once, in a session of its own, tied to nobody
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""


def program(folder: Path, mark: str, name: str, code: str, *arguments: str) -> Program:
    return Program(
        name=name,
        command=(sys.executable, "-c", code, *arguments),
        log=folder / f"{name}.log",
        environment={MARK: mark},
        insist_after_s=1.0,
    )


def main() -> None:
    folder = Path(sys.argv[1])
    orphan = folder / "orphan"

    def say(line: str) -> None:
        print(line, flush=True)

    # As libraries start some before the supervisor blocks signals in its own thread.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with Supervisor(say) as supervisor:
        forker = program(folder, supervisor.mark, "forker", FORKER, str(orphan))
        stubborn = program(folder, supervisor.mark, "stubborn", STUBBORN)
        units = [Unit(each.name, lambda each=each: Child(each), orphan.exists) for each in (forker, stubborn)]
        try:
            supervisor.bring_up(units, within_s=20)
            children = {unit.name: unit.child.pid for unit in units if unit.child}
            say(json.dumps({**children, "mark": supervisor.mark}))
            for code in sys.argv[2:]:
                guest = program(folder, supervisor.mark, "guest", code)
                supervisor.bring_up(
                    [Unit("guest", lambda guest=guest: Child(guest), lambda: False, lasting=False)], within_s=20
                )
                say("all are here")
            supervisor.run()
        except Stopped:
            say("stopped")


if __name__ == "__main__":
    main()
