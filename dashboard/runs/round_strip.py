"""A run's rounds from left to right as shapes for SVG: how long they took, and in which something was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from dashboard.runs import moments
from dashboard.runs.words import seconds
from ingest.queries.run_rounds import Rounds

WIDTH, HEIGHT = 1200, 72
MOST_COLUMNS = 120
_MARK = 6  # the height of a finding's mark, above the columns
_WIDEST = 150.0


@dataclass(frozen=True, slots=True)
class Column:
    """One or more rounds that follow each other: as high as the slowest, filled up to their median.

    `href` leads to the slowest; `found` says what was found in them, "" for nothing.
    """

    x: float
    width: float
    y: float
    height: float
    middle_y: float
    middle_height: float
    says: str
    found: str
    href: str


@dataclass(frozen=True, slots=True)
class Strip:
    """`columns` from the oldest to the newest; `highest` is what their full height means."""

    columns: list[Column]
    highest: str
    first: int
    last: int
    together: int


def strip(run_id: UUID, rounds: Rounds, found: Mapping[int, str]) -> Strip | None:
    """The rounds' picture, `found` by round; None for no round."""
    count = len(rounds.index)
    if not count:
        return None
    together = -(-count // MOST_COLUMNS)
    wall = rounds.wall_s
    scale = (HEIGHT - _MARK - 2) / max(float(wall.max()), 1e-9)
    columns = -(-count // together)
    width = min(WIDTH / columns, _WIDEST)
    made = []
    for number in range(columns):
        part = slice(number * together, min((number + 1) * together, count))
        slowest = part.start + int(wall[part].argmax())
        high, middle = float(wall[slowest]), float(np.median(wall[part]))
        told = [found[index] for index in rounds.index[part].tolist() if index in found]
        made.append(
            Column(
                x=round(number * width, 2), width=round(max(width * 0.82, 0.8), 2),
                y=round(HEIGHT - high * scale, 2), height=round(high * scale, 2),
                middle_y=round(HEIGHT - middle * scale, 2), middle_height=round(middle * scale, 2),
                says=_says(rounds, part, high, middle), found="; ".join(dict.fromkeys(told)),
                href=moments.link(
                    run_id, index=int(rounds.index[slowest]), begin_ns=int(rounds.begin_ns[slowest]),
                    end_ns=int(rounds.end_ns[slowest]),
                ),
            )
        )  # fmt: skip
    return Strip(made, seconds(float(wall.max())), int(rounds.index[0]), int(rounds.index[-1]), together)


def _says(rounds: Rounds, part: slice, high: float, middle: float) -> str:
    first, last = int(rounds.index[part][0]), int(rounds.index[part][-1])
    if first == last:
        return f"round {first}: {seconds(high)}"
    return f"rounds {first} to {last}: median {seconds(middle)}, slowest {seconds(high)}"
