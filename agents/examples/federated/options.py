"""What can be chosen about the example training."""

import argparse
import itertools
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

TRAIN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Options:
    """The choices on the command line; the last four are for the processes that it starts."""

    rounds: int
    round_seconds: float
    trainers: int
    width: int
    link_mbit: float
    batch_rate: float
    run_id: str
    name: str
    starve_encoder: int | None
    retain: bool
    die_in_round: int | None
    die_trainer: int
    role: str | None
    trainer: int
    port: int
    socket: int

    def numbers(self) -> Iterable[int]:
        """The rounds to run: 0, 1, ... without end when `rounds` is 0."""
        return range(self.rounds) if self.rounds else itertools.count()

    @property
    def train_seconds(self) -> float:
        """Local training gets its share of a round; the exchange takes the rest."""
        return self.round_seconds * TRAIN_SHARE

    def config(self) -> dict[str, object]:
        """What the run page shows as the run's configuration."""
        mine = ("role", "trainer", "port", "socket", "run_id", "name")
        return {key: value for key, value in asdict(self).items() if key not in mine}


def parse(arguments: list[str]) -> Options:
    """The options; leaves with a message and exit code 2 where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="rounds.py",
        description="A federated training to watch in Roundwatch.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    _add_size(parser)
    _add_faults(parser.add_argument_group("faults, each of them real"))
    _add_own(parser)
    given = parser.parse_args(arguments)
    positive = given.trainers, given.round_seconds, given.link_mbit, given.batch_rate
    if given.rounds < 0 or given.width < 8 or min(positive) <= 0:
        parser.error("rounds cannot be negative, and the other numbers must be positive (width at least 8)")
    if given.die_trainer is None:
        given.die_trainer = given.trainers - 1
    for option in ("starve_encoder", "die_trainer"):
        if not 0 <= (getattr(given, option) or 0) < given.trainers:
            parser.error(f"there are only the trainers 0 to {given.trainers - 1}")
    given.run_id = given.run_id or f"demo-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"
    given.name = given.name or f"digits, {given.trainers} trainers"
    return Options(**vars(given))


def _add_size(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rounds", type=int, default=20, metavar="N", help="how many rounds; 0 is without end")
    add("--round-seconds", type=float, default=12.0, metavar="S", help="about how long a round lasts")
    add("--trainers", type=int, default=4, metavar="N", help="how many trainers")
    add("--width", type=int, default=1792, metavar="N", help="width of the model's hidden layers")
    add("--link-mbit", type=float, default=12.0, metavar="M", help="speed of each trainer's link in Mbit/s")
    add("--batch-rate", type=float, default=6.0, metavar="B", help="batches a second from each trainer's storage")
    add("--run-id", default="", metavar="ID", help="the run's id; made from the time if not given")
    add("--name", default="", help="the run's name; made from the options if not given")


def _add_faults(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--starve-encoder", type=int, metavar="K", help="trainer K gets hardly any CPU while it encodes")
    add("--retain", action="store_true", help="the coordinator keeps old deltas in a reference cycle")
    add("--die-in-round", type=int, metavar="R", help="a trainer is killed in round R")
    add("--die-trainer", type=int, metavar="K", help="which trainer that is; the last if not given")


def _add_own(parser: argparse.ArgumentParser) -> None:
    """What the processes tell each other; nobody needs to know."""
    add = parser.add_argument
    add("--role", help=argparse.SUPPRESS)
    add("--trainer", type=int, default=-1, help=argparse.SUPPRESS)
    add("--port", type=int, default=0, help=argparse.SUPPRESS)
    add("--socket", type=int, default=-1, help=argparse.SUPPRESS)
