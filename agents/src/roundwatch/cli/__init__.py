"""The command `roundwatch`: finds the command that is asked for and loads only that."""

import importlib
import os
import signal
import sys
from collections.abc import Sequence

COMMANDS = {
    "agent": "run this host's agent in the foreground: samples the host and ships what its trainings record",
    "run": "run a command as one run, and see to it that what it recorded is shipped before leaving",
    "doctor": "tell what is collected here, what is not and why, and whether the server can be reached",
    "sync": "ship what trainings left in a spool folder: recorded offline, or for a replaced token",
    "export": "have the server make a file of a run, for Perfetto or as tables, and fetch it",
    "lab": "play a named scenario to the server: a training with known faults, to see what is made of it",
}
USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 when all is well, 2 for a command line that makes no sense."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if given else USAGE_ERROR
    if given[0] == "--version":
        from roundwatch.cli.version import version  # noqa: PLC0415 - metadata is slow to load

        print(f"roundwatch {version()}")
        return 0
    if given[0] not in COMMANDS:
        print(f"roundwatch: there is no command {given[0]!r}; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return USAGE_ERROR
    # Each command loads what it needs: `run` starts trainings and must not be slow.
    command = importlib.import_module(f"roundwatch.cli.{given[0]}")
    try:
        return int(command.main(given[1:]))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # who read it has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would write the rest at its end
        return 128 + signal.SIGPIPE


def _help() -> str:
    lines = [f"  {name:<8} {what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "usage: roundwatch COMMAND ...",
            "",
            *lines,
            "",
            "ROUNDWATCH_URL and ROUNDWATCH_TOKEN say where to ship to. `roundwatch COMMAND --help` tells more, with",
            "examples and exit codes: 2 always is a command line, or settings, that make no sense.",
        ]
    )
