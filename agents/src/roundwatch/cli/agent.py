"""`roundwatch agent`: this host's agent in the foreground, until it is told to end."""

import os
import sys
from collections.abc import Sequence

from roundwatch import shipper
from roundwatch.cli import USAGE_ERROR, options


def main(arguments: Sequence[str]) -> int:
    """Samples this host and ships what its trainings record; 0 when it was told to end, 2 if it could not begin.

    Only one shipper serves a spool folder and server: where one runs already, this waits for its turn.
    """
    parser = options.parser("agent", __doc__ or "")
    options.add_destination(parser)
    options.apply_destination(parser.parse_args(arguments), parser)
    if os.environ.get("ROUNDWATCH_URL") and not os.environ.get("ROUNDWATCH_TOKEN"):
        print("roundwatch agent: ROUNDWATCH_TOKEN is not set; make a token on the team's page", file=sys.stderr)
        return USAGE_ERROR
    return shipper.main(["--stay"])
