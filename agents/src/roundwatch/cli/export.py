"""`roundwatch export RUN`: has the server make a file of a run, and fetches it."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roundwatch.cli import options
from roundwatch.cli.rest import Rest, RestError

FORMATS = {"perfetto": ".json.gz", "csv": ".zip", "parquet": ".zip"}
FAILED = 1
LOOKS_EVERY_S = 1.0
MOST_RUNS = 1000  # among the newest of which a run is looked for by its key or name
TEACHES = """
    RUN is a run's id, the address of one of its pages, or its key or name among the team's newest 1,000 runs. The token
    needs the scope `read`; one that only ingests is refused. It may be interrupted: the server goes on, and the same
    command waits on for the same file while that is being made. A FILE that exists is replaced once the new one is
    complete.

    examples:
      roundwatch export 5f0c2f3e-8f0d-4b7e-9d7c-2f6f3c1c9b1a                 RUN.json.gz, for ui.perfetto.dev
      roundwatch export vit-h-3 --format csv -o vit.zip                      phases.csv, rounds.csv, samples.csv
      roundwatch export https://rw.example/runs/5f0c2f3e-8f0d-4b7e-9d7c-2f6f3c1c9b1a/ --format parquet
      roundwatch export vit-h-3 -o - | gunzip | less                         to standard output

    exit codes:
      0  the file is complete
      1  the server does not answer, refuses it, or could not make it; there is no such run
      2  a wrong option, no server or no token
"""


def main(arguments: Sequence[str]) -> int:
    """Fetches the file; 0 when it is complete, 1 when there is none, 2 if it could not begin."""
    parser = _parser()
    given = parser.parse_args(arguments)
    options.apply_destination(given, parser)
    url, token = os.environ.get("ROUNDWATCH_URL", ""), os.environ.get("ROUNDWATCH_TOKEN", "")
    if not url or not token:
        parser.error("ROUNDWATCH_URL and ROUNDWATCH_TOKEN must say where from")
    try:
        server = Rest(url, token)
    except ValueError as error:
        parser.error(str(error))
    try:
        return _export(server, given)
    except (RestError, OSError) as error:
        print(f"roundwatch export: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("export", __doc__ or "", TEACHES)
    parser.add_argument("run", metavar="RUN", help="the run's id, its page, or its key or name")
    parser.add_argument("--format", choices=tuple(FORMATS), default="perfetto", help="what to make (default: perfetto)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: RUN with the format's ending)")
    options.add_server(parser)
    return parser


def _export(server: Rest, given: argparse.Namespace) -> int:
    run = _find(server, given.run)
    exports = f"/runs/{run['id']}/exports"
    made = server.post(exports, {"format": given.format})
    made = _wait(server, f"{exports}/{made['id']}", made)
    if made["state"] != "done":
        raise RestError(f"the server could not make it: {made['reason'] or made['state']}")
    path = f"{exports}/{made['id']}/file"
    if given.output == "-":
        server.fetch(path, sys.stdout.buffer)
        return 0
    return _save(server, path, Path(given.output or f"{_plain(run['name'])}{FORMATS[given.format]}"))


def _wait(server: Rest, path: str, made: dict[str, Any]) -> dict[str, Any]:
    """The export once it is over; its progress is shown at a terminal."""
    pause_s = 0.1
    while made["state"] in ("waiting", "running"):
        if sys.stderr.isatty():
            of = f" of about {made['records_total']:,}" if made["records_total"] else ""
            print(f"\r{made['state']}: {made['records']:,}{of} records ", end="", file=sys.stderr, flush=True)
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, LOOKS_EVERY_S)
        made = server.get(path)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return made


def _save(server: Rest, path: str, to: Path) -> int:
    part = to.with_name(f".{to.name}.part")
    try:
        with part.open("wb") as file:
            size = server.fetch(path, file)
        part.replace(to)
    finally:
        part.unlink(missing_ok=True)
    print(f"{to}: {size:,} bytes")
    return 0


def _find(server: Rest, asked: str) -> dict[str, Any]:
    """The run that is meant. Raises RestError where there is none, or more than one."""
    known = _id_in(asked)
    if known:
        run: dict[str, Any] = server.get(f"/runs/{known}")
        return run
    found: list[dict[str, Any]] = [
        run for run in server.newest("/runs", MOST_RUNS) if asked in (run["key"], run["name"])
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise RestError(f"among the team's newest {MOST_RUNS:,} runs none is called {asked!r}")
    raise RestError(f"{len(found)} runs are called {asked!r}; their ids: {', '.join(run['id'] for run in found[:10])}")


def _id_in(text: str) -> str:
    """The run's id that a text is, or has in it as an address; else ""."""
    for part in text.split("/"):
        digits = part.replace("-", "").lower()
        if len(part) == 36 and len(digits) == 32 and not digits.strip("0123456789abcdef"):
            return part
    return ""


def _plain(name: str) -> str:
    """A name that any file system takes; the server's own text decides nothing about where a file goes."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name)
    return kept.strip(".-")[:64] or "run"
