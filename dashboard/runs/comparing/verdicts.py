"""What may be said of the difference, in words."""

from dataclasses import dataclass

from ingest.detection.comparing import SpeedUp, Verdict, Why

_TIMES = "\N{NO-BREAK SPACE}×"
_REFUSED = {
    Why.CONDITIONS: "Conditions differ",
    Why.UNKNOWN: "Conditions are not known of every run",
    Why.NOT_REPEATED: "Not repeated",
    Why.FEW_ROUNDS: "Too few closed rounds",
}
_BECAUSE = {
    Why.CONDITIONS: "what is quicker may be the hardware or software.",
    Why.UNKNOWN: "what a run did not tell cannot be called equal.",
    Why.NOT_REPEATED: "one run a side does not tell a change from chance; a side needs two runs.",
    Why.FEW_ROUNDS: "a median needs six rounds after warm-up to have an interval.",
}
_MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class Refused:
    """A reason: `what` in two words, `which` are concerned, and `because`."""

    what: str
    which: str
    because: str


@dataclass(frozen=True, slots=True)
class Said:
    """Sentences on what was gained, or reasons why none is said."""

    gained: list[str]
    refused: list[Refused]


def said(verdict: Verdict) -> Said:
    """The verdict in words."""
    refused = [Refused(_REFUSED[one.why], _names(one.names), _BECAUSE[one.why]) for one in verdict.refusals]
    return Said([_gained(one) for one in verdict.speed_ups], refused)


def _gained(one: SpeedUp) -> str:
    between = f"{one.least:.2f} to {one.most:.2f} over all pairs of runs"
    if one.within_spread:
        return (
            f"No difference between {one.side} and {one.base} beyond that of equal runs: {one.ratio:.2f}{_TIMES} as "
            f"fast ({between})."
        )
    if one.ratio > 1:
        return f"{one.side} is {one.ratio:.2f}{_TIMES} as fast as {one.base} ({between})."
    slower = f"{1 / one.most:.2f} to {1 / one.least:.2f} over all pairs of runs"
    return f"{one.side} takes {1 / one.ratio:.2f}{_TIMES} as long as {one.base} ({slower})."


def _names(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
