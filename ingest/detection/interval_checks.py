"""Checks of intervals that fail: one incident for each interval, from the first failure of a row of them on.

Eligible is every interval with a check; of several short rounds in one window the median counts. Warm-up is shown and
not judged. Missing data means: a window whose rounds lack a boundary, or whose clocks could turn the answer, has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.detection.critical_path.clocks import clocks
from ingest.detection.facts import History, Window
from ingest.detection.named_intervals import Event, Interval, Measured, by_round, passed
from ingest.detection.verdicts import Verdict, fingerprint
from ingest.detection.wording import duration

KIND = "interval_failed"
_MOST_TOLD = 20  # windows with their figures in the evidence


@dataclass(frozen=True, slots=True)
class _Answer:
    """A window's own: `median` is the round in its middle, `failed` says whether its check did."""

    window: Window
    median: Measured
    index: int

    @property
    def failed(self) -> bool:
        return self.median.passed is False


def judge(history: History, events: Sequence[Event], intervals: Sequence[Interval]) -> tuple[Verdict, ...]:
    """A verdict for each interval whose newest answer is that its check failed."""
    checked = [one for one in intervals if one.most_s is not None]
    if not checked or not history.windows:
        return ()
    time = clocks(history.spans, history.workers)
    found = []
    for interval in checked:
        measured = by_round(history.spans, events, interval, time)
        answers = [one for window in history.windows if (one := _answer(window, interval, measured))]
        if answers and answers[-1].failed:
            found.append(_verdict(history, interval, answers))
    return tuple(found)


def _answer(window: Window, interval: Interval, measured: dict[int, Measured]) -> _Answer | None:
    known = sorted(
        (one.length_ns, index, one)
        for index in window.rounds
        if (one := measured.get(index)) and not one.abstained and not set(one.lanes) & window.cold
    )
    if not known:
        return None
    length_ns, index, median = known[(len(known) - 1) // 2]
    error_ns = max(one.error_ns for _, _, one in known)
    median = replace(median, passed=passed(interval, length_ns, error_ns), error_ns=error_ns)
    return None if median.passed is None else _Answer(window, median, index)


def _verdict(history: History, interval: Interval, answers: Sequence[_Answer]) -> Verdict:
    names = {worker.lane: worker.name for worker in history.workers}
    newest, failed = answers[-1], [one for one in answers if one.failed]
    since = next((place for place in range(len(answers), 0, -1) if not answers[place - 1].failed), 0)
    most_s = interval.most_s or 0.0
    several = len(newest.window.rounds) > 1
    word = history.words.round
    where = f"the median of {word}s {newest.window.rounds[0]} to {newest.window.rounds[-1]}" if several else (
        f"{word} {newest.index}"
    )  # fmt: skip
    unit = "windows" if several else f"{word}s"
    count = f" {len(failed)} of the last {len(answers)} {unit} failed." if len(answers) > 1 else ""
    return Verdict(
        kind=KIND,
        fingerprint=fingerprint(KIND, since=None, phase=interval.name),
        phase=interval.name,
        severity="warning",
        observed=f"It took {duration(newest.median.length_ns / 1e9)} in {where}; the check allows {most_s:g} s.{count}",
        hypothesis="",
        workers=tuple(dict.fromkeys(names.get(lane, "") for lane in newest.median.lanes)),
        rounds=tuple(index for one in failed for index in one.window.rounds),
        marks=(),
        opened_ns=answers[since].window.end_ns,
        resolved_ns=None,
        evidence={
            "interval": interval.identity, "most_s": most_s, "failed": len(failed), "judged": len(answers),
            "seconds": [
                {"round": one.index, "seconds": round(one.median.length_ns / 1e9, 6), "passed": not one.failed}
                for one in answers[-_MOST_TOLD:]
            ],
        },
    )  # fmt: skip
