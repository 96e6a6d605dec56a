"""`python -m tests.faults`: draws faults for some minutes, and ends with 1 at the first broken invariant."""

import argparse
import secrets
import signal
import sys
import traceback
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from tests.faults.campaign import Campaign
from tests.faults.catalogue import FAULTS
from tests.faults.stage import Stage, staged

if TYPE_CHECKING:
    from tests.faults.page import OpenPage

MISSED = "MISSED is normal on a shared machine"


def main() -> int:
    """Returns 0 where no invariant was broken, 1 where one was, 2 for what cannot be asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which faults come when; the same seed, the same faults")
    parser.add_argument("--random", action="store_true", help="any seed; it is printed")
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="when no further fault begins (10); the one in progress and the account at the end come on top",
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="faults whose name holds this text")
    parser.add_argument("--browser", action="store_true", help="have a real browser watch, too")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    options = parser.parse_args()
    names = [name for name in FAULTS if options.only in name]
    if options.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` reads no more
        print("\n".join(FAULTS))
        return 0
    if not names:
        print(f"no fault's name holds {options.only!r}; --list prints all {len(FAULTS)}", file=sys.stderr)
        return 2
    seed = secrets.randbits(32) if options.random else options.seed
    what = "all faults" if len(names) == len(FAULTS) else f"{len(names)} of {len(FAULTS)} faults"
    print(f"seed {seed}, {what}, {options.minutes:g} minutes, then the account; {MISSED}", flush=True)
    campaign: Campaign | None = None
    try:
        with staged(seed=seed, keep=True) as stage, ExitStack() as stack:
            page = stack.enter_context(_browser(stage)) if options.browser else None
            campaign = Campaign(stage, names, seed, page)
            campaign.run(options.minutes * 60)
    except AssertionError:
        traceback.print_exc()
        told = "" if campaign is None else f" {campaign.count} of seed {seed}, {campaign.name!r}"
        again = f"--seed {seed} --minutes {options.minutes:g}" + (f" --only {options.only!r}" if options.only else "")
        print(f"BROKEN at fault{told}: python -m tests.faults {again}", flush=True)
        return 1
    finally:
        if campaign is not None:
            print(campaign.table(), flush=True)
    return 0


def _browser(stage: Stage) -> "AbstractContextManager[OpenPage]":
    from tests.faults.page import browsing  # needs a browser's driver, which only --browser does

    return browsing(stage.current(near=False))


if __name__ == "__main__":
    sys.exit(main())
