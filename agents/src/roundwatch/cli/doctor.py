"""`roundwatch doctor`: what is collected here, what is not and why, and whether it arrives."""

import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence

from roundwatch.cli import checks, hardware, options, server
from roundwatch.cli.checks import Line
from roundwatch.cli.version import version

SECTIONS: tuple[tuple[str, Callable[[], Iterable[Line]]], ...] = (
    ("Who this process is", checks.identity_lines),
    ("Keeping records", checks.storage_lines),
    ("Reaching the server", server.lines),
    ("Answering the server", checks.stack_lines),
    ("CPU limits", checks.cpu_lines),
    ("Devices", hardware.device_lines),
    ("Samples", hardware.sample_lines),
    ("Conditions of a run", hardware.condition_lines),
)
TEACHES = """
    Each line begins with a mark: ok; warn, for what is probably not wanted; bad, for what keeps records from being
    kept or from arriving; and - for what cannot be had here, with the reason. Run it as the training would run,
    inside the same container and with the same variables: `srun roundwatch doctor`, `torchrun --no-python roundwatch
    doctor`. It changes nothing, and sends the server an empty request.

    examples:
      roundwatch doctor
      roundwatch doctor --url https://rw.example --token-file ~/.roundwatch-token
      roundwatch doctor | grep -v ' ok '

    exit codes:
      0  records are kept, and arrive if a server is named; warnings change nothing of that
      1  something is bad
      2  a wrong option, or a token file that cannot be read
"""
MARKS = {"ok": "32", "warn": "33", "bad": "31", "none": "2"}


def main(arguments: Sequence[str]) -> int:
    """Prints what it finds; 1 where something keeps records from being kept or from arriving."""
    parser = options.parser("doctor", __doc__ or "", TEACHES)
    options.add_destination(parser)
    options.apply_destination(parser.parse_args(arguments), parser)
    print(f"roundwatch {version()}, Python {platform.python_version()}, {platform.system()} {platform.release()}")
    bad = False
    for title, find in SECTIONS:
        print(f"\n{title}")
        for line in find():
            bad = bad or line.mark == "bad"
            print(f"  {_coloured(line.mark)} {line.subject:<36} {line.text}", flush=True)
    return 1 if bad else 0


def _coloured(mark: str) -> str:
    text = f"{mark if mark != 'none' else '-':<5}"
    return f"\033[{MARKS[mark]}m{text}\033[0m" if _wants_colour() else text


def _wants_colour() -> bool:
    """Only a person at a terminal does, unless NO_COLOR says otherwise (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
