"""`roundwatch agent`: this host's agent in the foreground, until it is told to end."""

import os
import sys
from collections.abc import Sequence

from roundwatch import launch, locks, shipper
from roundwatch.cli import USAGE_ERROR, options
from roundwatch.folders import Destination

TEACHES = """
    The agent reads this host's CPUs, memory, disks, network and devices each second or two, and ships these readings
    with what the trainings of this user record. A training finds it when it names the same spool folder, server and
    token; one that does not brings a shipper of its own, so that nothing is lost without an agent.

    examples:
      ROUNDWATCH_URL=https://rw.example ROUNDWATCH_TOKEN=... roundwatch agent
      roundwatch agent --url https://rw.example --token-file ~/.roundwatch-token --spool /local/spool
      (as a service: deploy/roundwatch-agent@.service; in Kubernetes: deploy/agent-daemonset.yaml)

    exit codes:
      0  it was told to end (Ctrl-C, SIGTERM), and has shipped what the server took within a few seconds
      1  it could not go on: the last lines of its log, shipper.log in the spool folder, say why
      2  it could not begin: a wrong option, address or token, or a spool folder that cannot be used
"""


def main(arguments: Sequence[str]) -> int:
    """Samples this host and ships what its trainings record, until it is told to end; returns the exit code.

    Only one shipper serves a spool folder and server: where one runs already, this waits for its turn.
    """
    parser = options.parser("agent", __doc__ or "", TEACHES)
    options.add_destination(parser)
    options.apply_destination(parser.parse_args(arguments), parser)
    try:
        destination = shipper.destination_of(dict(os.environ))
    except ValueError as error:
        return _refuse(str(error))
    if destination.url and not destination.token:
        return _refuse("ROUNDWATCH_TOKEN is not set; the page 'Connect a run' makes one")
    print(f"roundwatch agent: {_what(destination)}", file=sys.stderr, flush=True)
    return shipper.main(["--stay"])


def _refuse(why: str) -> int:
    print(f"roundwatch agent: {why}", file=sys.stderr)
    return USAGE_ERROR


def _what(destination: Destination) -> str:
    """What it is going to do, in one line: it goes on without a word for as long as all is well."""
    if pid := locks.holder_of(destination.folder / launch.LOCK):
        return f"another one is at work (process {pid}), waiting for its turn; Ctrl-C ends it"
    if not destination.url:
        return f"ROUNDWATCH_URL is not set, records are only kept in {destination.spool}; Ctrl-C ends it"
    return f"ships to {destination.url} from {destination.spool}; Ctrl-C ends it"
