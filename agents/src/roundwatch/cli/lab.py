"""`roundwatch lab NAME`: plays a named scenario to the server, as if it happened, faster, or at once as history."""

import argparse
import os
import secrets
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence

from roundwatch import wire
from roundwatch.cli import USAGE_ERROR, options
from roundwatch.lab.catalogue import scenarios
from roundwatch.lab.keys import Keys
from roundwatch.lab.playing import Player, Wishes
from roundwatch.lab.shapes import Scenario
from roundwatch.lab.telling import NotTakenError, Teller
from roundwatch.opening import check_token, check_url

NOT_TAKEN = 1
MOST_SPEED = 1_000.0
TEACHES = """
scenarios:
{scenarios}

Nothing is trained and no device is used: the records of all workers are sent from here, each as a worker of its own.
What is recorded lasts as long as the scenario says however fast it is played. Played faster it lies in the past until
its end, and the live page, which draws open bars up to now, draws them too long; --from keeps to real time.

examples:
  roundwatch lab                               list the scenarios
  roundwatch lab run-6                         as it happened: watch the run's page meanwhile
  roundwatch lab run-6 --from 4                the same, with all before round 4 told at once
  roundwatch lab run-6 --speed 10              ten seconds of it in one
  roundwatch lab dry-run --history             at once, as a run that has just ended
  roundwatch lab dry-run --history --ago 48    the same, two days ago
  roundwatch lab four-gpus                     press a key to trigger a failure, or wait until it comes by itself

exit codes:
  0  the server has all of it, or the scenarios were listed
  1  the server did not take it, or set records of it aside
  2  a wrong option, no such scenario, or no usable address or token
"""


def main(arguments: Sequence[str]) -> int:
    """Plays one scenario; 0 when all of it is stored, 1 when the server did not take it, 2 if it could not begin."""
    known = scenarios()
    parser = _parser(known)
    given = parser.parse_args(arguments)
    if given.name is None:
        print(listed(known))
        return 0
    options.apply_destination(given, parser)
    if given.name not in known:
        return _refuse(f"there is no scenario {given.name!r}; there are {', '.join(known)}")
    try:
        wishes = _wishes(given, known[given.name].rounds)
        url, token = os.environ.get("ROUNDWATCH_URL", ""), check_token(os.environ.get("ROUNDWATCH_TOKEN", ""))
        url = url and check_url(url)
    except ValueError as error:
        return _refuse(str(error))
    if not (url and token):
        absent = [name for name, said in (("ROUNDWATCH_URL", url), ("ROUNDWATCH_TOKEN", token)) if not said]
        verb = "is" if len(absent) == 1 else "are"
        return _refuse(f"{' and '.join(absent)} {verb} not set; the server's page 'Connect a run' tells both")
    return _play(known[given.name], wishes, Teller(url, token), url)


def listed(known: Mapping[str, Scenario]) -> str:
    """The scenarios, one a line, with what can be triggered in them."""
    lines = []
    for name, one in known.items():
        lines.append(f"{name:<12} {one.about}")
        lines += [f"{'':<12}   {key}: {what}, else after {after:.0f} s" for key, (what, after) in one.failures.items()]
    return "\n".join(lines)


def _parser(known: Mapping[str, Scenario]) -> argparse.ArgumentParser:
    teaches = TEACHES.format(scenarios=textwrap.indent(listed(known), "  "))
    parser = options.parser("lab", __doc__ or "", teaches)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the scenario; without one they are listed")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--speed", type=float, default=1.0, metavar="N", help="seconds of it in one second (default: 1)")
    how.add_argument("--history", action="store_true", help="at once, as a run that has ended")
    parser.add_argument(
        "--from", dest="since", type=int, default=0, metavar="N", help="tell what is before round N at once"
    )
    parser.add_argument("--ago", type=float, default=0.0, metavar="HOURS", help="how long ago a history ended")
    parser.add_argument("--project", default="lab", help="the run's project (default: lab)")
    parser.add_argument("--run-id", metavar="ID", help="the run's id (default: a new one)")
    options.add_server(parser)
    return parser


def _wishes(given: argparse.Namespace, rounds: int) -> Wishes:
    if not 1 <= given.speed <= MOST_SPEED:
        raise ValueError(f"--speed is from 1 to {MOST_SPEED:.0f}, not {given.speed:g}")
    if not 0 <= given.since < rounds or (given.since and given.history):
        raise ValueError(f"--from is a round from 0 to {rounds - 1}, and not for --history")
    if given.ago and not given.history:
        raise ValueError("--ago is for --history: what is played is played now")
    if not 0 <= given.ago < 24 * 365 * 20:
        raise ValueError(f"--ago is a number of hours, not {given.ago:g}")
    run = given.run_id or f"{given.name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    for what, text in (("--run-id", run), ("--project", given.project)):
        if fault := wire.name_fault(text):
            raise ValueError(f"{what}: {fault}")
    speed = float("inf") if given.history else given.speed
    return Wishes(project=given.project, run=run, speed=speed, ago_s=given.ago * 3600, since=given.since)


def _play(scenario: Scenario, wishes: Wishes, teller: Teller, url: str) -> int:
    length = scenario.seconds() - (scenario.acts()[wishes.since - 1].next_s if wishes.since else 0.0)
    takes = "at once" if wishes.speed == float("inf") else f"in {length / wishes.speed:.0f} s"
    print(
        f"{scenario.name}: {length:.0f} s of {len(scenario.workers)} workers {takes}, run {wishes.run} on {url}; "
        "without an answer it tries for a minute",
        flush=True,
    )
    code = 0
    with Keys(scenario.failures if wishes.speed < float("inf") else {}) as keys:
        try:
            Player(scenario, teller, wishes, keys.pressed).play()
        except NotTakenError as error:
            print(f"roundwatch lab: {error}", file=sys.stderr)
            code = NOT_TAKEN
        finally:
            teller.close()
    if teller.rejected:
        print(f"roundwatch lab: {teller.rejected} records were set aside by the server", file=sys.stderr)
    print(f"{teller.records} records stored of run {wishes.run} in project {wishes.project}")
    return code or (NOT_TAKEN if teller.rejected else 0)


def _refuse(why: str) -> int:
    print(f"roundwatch lab: {why}", file=sys.stderr)
    return USAGE_ERROR
