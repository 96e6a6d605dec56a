"""Options that several commands share. Each sets the environment variable that the package reads anyway."""

import argparse
import os
import textwrap
from pathlib import Path


def parser(command: str, description: str, teaches: str = "") -> argparse.ArgumentParser:
    """The parser of `roundwatch <command>`; `teaches` follows its options: examples, and what its exit codes mean."""
    return argparse.ArgumentParser(
        prog=f"roundwatch {command}",
        description=description,
        epilog=textwrap.dedent(teaches).strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_destination(to: argparse.ArgumentParser) -> None:
    """Where to ship to, and where the spool is."""
    add_server(to)
    to.add_argument("--spool", metavar="DIR", help="the spool folder (default: ROUNDWATCH_SPOOL)")


def add_server(to: argparse.ArgumentParser) -> None:
    """Where to ship to."""
    to.add_argument("--url", metavar="URL", help="the server (default: ROUNDWATCH_URL)")
    to.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="a file with the token (default: ROUNDWATCH_TOKEN); as an option it could be seen by others",
    )


def apply_destination(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Puts the chosen destination into this process's environment; leaves with code 2 where it cannot be read."""
    if given.url is not None:
        os.environ["ROUNDWATCH_URL"] = given.url
    if getattr(given, "spool", None) is not None:
        os.environ["ROUNDWATCH_SPOOL"] = given.spool
    if given.token_file is not None:
        try:
            os.environ["ROUNDWATCH_TOKEN"] = given.token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            parser.error(f"the token file cannot be read: {error}")
