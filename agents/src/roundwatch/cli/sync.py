"""`roundwatch sync [DIR]`: ships what trainings left in a spool folder: recorded offline, or for a replaced token."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from roundwatch import folders, inventory, shipper
from roundwatch.cli import USAGE_ERROR, options
from roundwatch.cli.checks import streams

NOT_ALL_SENT = 1
TEACHES = """
    What was recorded offline, or for this server and token, is shipped; what was recorded for another is listed, and
    shipped where --from or --all says so. Nothing is removed before the server has it on disk: it may be interrupted,
    and run again. A folder that was copied from another host may be shipped from here.

    examples:
      roundwatch sync                        what waits where trainings of this user record
      roundwatch sync /local/spool
      roundwatch sync /local/spool --all     also what was recorded for a token that was replaced

    exit codes:
      0  nothing is left: the server has it, or has refused it for good, which is counted. What was recorded for another
         server or token does not count, unless --from or --all asks for it
      1  something is left: the server was away, or another shipper is at work
      2  it could not begin: a wrong option or folder, no server or no token
"""


def main(arguments: Sequence[str]) -> int:
    """Says how much was shipped; 0 when the server has it all, 1 when something is left, 2 if it could not begin."""
    parser = options.parser("sync", __doc__ or "", TEACHES)
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="the spool folder that the trainings wrote to (default: ROUNDWATCH_SPOOL, else where they do by default)",
    )
    parser.add_argument(
        "--from",
        dest="keys",
        metavar="KEY",
        action="append",
        default=[],
        help="also this folder in DIR, recorded for another server or token (`roundwatch doctor` lists them)",
    )
    parser.add_argument("--all", action="store_true", help="also everything recorded for other servers and tokens")
    options.add_server(parser)
    given = parser.parse_args(arguments)
    options.apply_destination(given, parser)
    url, token = os.environ.get("ROUNDWATCH_URL", ""), os.environ.get("ROUNDWATCH_TOKEN", "")
    if not url or not token:
        parser.error("ROUNDWATCH_URL and ROUNDWATCH_TOKEN must say where to ship to")
    try:
        folder = given.folder or folders.spool(os.environ.get("ROUNDWATCH_SPOOL", ""))
        if folder.is_dir():
            print(f"shipping from {folder} to {url}; without an answer it tries for a minute", flush=True)
        outcome = shipper.sync(folder, url, token, keys=given.keys, everything=given.all)
    except (OSError, ValueError) as error:
        print(f"roundwatch sync: {error}", file=sys.stderr)
        return USAGE_ERROR
    return _tell(outcome, folder)


def _tell(outcome: shipper.Outcome, folder: Path) -> int:
    if not inventory.parts(folder):
        print(f"nothing to ship: {_why_nothing(folder)}")
    for part in outcome.shipped:
        print(f"from {part.path.name}, recorded {f'for {part.server}' if part.server else 'offline'}")
    counts = f"{outcome.stored} records stored, {outcome.refused} refused, {outcome.left} left"
    print(f"{streams(outcome.streams)} in {folder}: {counts}")
    for part in outcome.others:
        print(f"not shipped: {streams(len(part.streams))} for {part.server}; `--from {part.path.name}` ships them too")
    if outcome.trouble:
        print(f"roundwatch sync: {outcome.trouble}", file=sys.stderr)
    return NOT_ALL_SENT if outcome.left or outcome.trouble else 0


def _why_nothing(folder: Path) -> str:
    if (folder / folders.NOTE).is_file():
        return f"{folder} is one part of a spool; give the spool, {folder.absolute().parent}"
    return f"{folder} is no spool: no training has recorded there"
