"""Checks of intervals that fail: from when on, over which rounds, and when there is nothing to say."""

from dataclasses import replace

import pytest

from ingest.detection.facts import History
from ingest.detection.interval_checks import judge
from ingest.detection.named_intervals import Boundary, Event, Interval, Of
from ingest.detection.verdicts import Verdict
from tests.ingest.detection.histories import history, nanoseconds
from tests.ingest.detection.rounds import told
from tests.ingest.scenarios import Did

WITHIN_10 = Interval(
    name="to sync", most_s=10.0, asked=True, begin=(Boundary(of=Of.END, name="aggregate", first=False),),
    end=(Boundary(of=Of.BEGIN, name="sync", first=True),),
)  # fmt: skip
ROUND_S = 100


def taking(*seconds: float | None) -> list[Did]:
    """A coordinator whose rounds take so long from aggregation to sync; None is a round without a sync."""
    phases = []
    for index, took in enumerate(seconds):
        at = index * ROUND_S
        phases += [Did("host-0", index, "train", at, at + 99), Did("coordinator", index, "aggregate", at + 50, at + 53)]
        if took is not None:
            phases.append(Did("coordinator", index, "sync", at + 53 + took, at + 54 + took))
    return phases


def known(*phases: Did, errors_ns: dict[str, int] | None = None) -> History:
    """The history of these phases, one window for each round of theirs."""
    count = max(did.round for did in phases) + 1
    rounds = tuple((index * ROUND_S * 1.0, (index + 1) * ROUND_S * 1.0) for index in range(count))
    return history(replace(told(*phases), rounds=rounds), errors_ns=errors_ns)


def judged(*seconds: float | None) -> tuple[Verdict, ...]:
    return judge(known(*taking(*seconds)), (), (WITHIN_10,))


def test_a_check_that_fails_is_told_with_its_rounds_from_the_first_of_the_row_on() -> None:
    (verdict,) = judged(5, 12, 4, 23, 14.5)

    assert (verdict.kind, verdict.phase, verdict.severity) == ("interval_failed", "to sync", "warning")
    assert verdict.rounds == (1, 3, 4)
    assert verdict.observed == ("It took 14.5 s in round 4; the check allows 10 s. 3 of the last 4 rounds failed.")
    assert verdict.resolved_ns is None
    assert verdict.workers == ("coordinator",)
    assert verdict.opened_ns == nanoseconds(400)
    assert verdict.evidence["interval"] == "last end of aggregate to first start of sync, at most 10 s"
    assert [one["passed"] for one in verdict.evidence["seconds"]] == [False, True, False, False]


def test_it_is_over_with_the_first_round_that_passes_and_a_round_without_answer_changes_nothing() -> None:
    assert judged(5, 23, 9) == ()
    (verdict,) = judged(5, 23, None)
    assert verdict.rounds == (1,)
    assert judged(5, None, None) == ()


def test_warm_up_is_not_judged_and_neither_is_what_has_no_check() -> None:
    assert judged(23, 5) == ()
    assert judged(23) == ()
    whole = known(*taking(5, 23))
    assert judge(whole, (), (replace(WITHIN_10, most_s=None),)) == ()
    assert judge(whole, (), ()) == ()


def test_what_the_clocks_could_turn_has_no_answer() -> None:
    crossing = replace(WITHIN_10, begin=(Boundary(of=Of.END, name="train", first=False),))
    phases = [
        *(Did("host-0", index, "train", index * 100, index * 100 + 50) for index in (0, 1)),
        *(Did("coordinator", index, "sync", index * 100 + 60.5, index * 100 + 62) for index in (0, 1)),
    ]
    sure, unsure = (
        judge(known(*phases, errors_ns={"host-0": error_ns, "coordinator": 1_000_000}), (), (crossing,))
        for error_ns in (1_000_000, 600_000_000)
    )
    assert [one.rounds for one in sure] == [(1,)]
    assert unsure == ()


def test_of_short_rounds_in_one_window_the_median_counts() -> None:
    past = known(*taking(5, 5, 23, 12, 11))
    together = replace(past.windows[-1], rounds=(2, 3, 4))
    (verdict,) = judge(replace(past, windows=(*past.windows[:2], together)), (), (WITHIN_10,))
    assert verdict.observed.startswith("It took 12.0 s in the median of rounds 2 to 4;")
    assert verdict.rounds == (2, 3, 4)
    mostly_quick = known(*taking(5, 5, 23, 4, 3))
    assert judge(replace(mostly_quick, windows=(*past.windows[:2], together)), (), (WITHIN_10,)) == ()


def test_events_bound_it_round_by_round() -> None:
    past = known(*taking(5, 5, 5))
    lane = next(worker.lane for worker in past.workers if worker.name == "coordinator")
    by_event = replace(WITHIN_10, end=(Boundary(of=Of.EVENT, name="go", first=False),))
    events = [Event("go", lane, index, nanoseconds(index * ROUND_S + 53 + took)) for index, took in ((1, 4), (2, 11))]
    events.append(Event("go", lane, 2, nanoseconds(2 * ROUND_S + 53 + 1)))

    (verdict,) = judge(past, events, (by_event,))

    assert verdict.rounds == (2,)


@pytest.mark.parametrize(("slow", "failed"), [(25, False), (26, True)])
def test_of_a_thousand_short_rounds_the_newest_window_answers_by_more_than_half_of_its_rounds(
    slow: int, failed: bool
) -> None:
    past = known(*taking(*[4.0] * (1000 - slow), *[23.0] * slow))
    windows = tuple(
        replace(past.windows[-1], rounds=tuple(range(end - 50, end)), cold=frozenset()) for end in range(50, 1001, 50)
    )
    found = judge(replace(past, windows=windows), (), (WITHIN_10,))
    assert [one.rounds for one in found] == [tuple(range(950, 1000))] * failed
    assert [(one.evidence["failed"], one.evidence["judged"]) for one in found] == [(1, 20)] * failed


def test_what_an_interval_is_known_by_stays_as_findings_have_kept_it() -> None:
    either = replace(WITHIN_10, end=(Boundary(of=Of.EVENT, name="go", first=True), *WITHIN_10.end))
    assert either.identity == "last end of aggregate to first event go or first start of sync, at most 10 s"
    assert replace(WITHIN_10, most_s=None).identity == "last end of aggregate to first start of sync"
    close, closer = (replace(WITHIN_10, most_s=most_s).identity for most_s in (123456.1, 123456.2))
    assert close != closer
