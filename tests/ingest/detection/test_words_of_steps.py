"""What is said of a run whose rounds are steps of ranks says so: each rule in its own sentence."""

import re
from dataclasses import replace

import numpy as np

from ingest.detection import interval_checks, memory, round_analysis, slow_phase, straggler, thresholds, work_on_path
from ingest.detection.facts import History
from ingest.detection.memory import Collected
from ingest.detection.named_intervals import Boundary, Interval, Of
from ingest.detection.wording import STEPS
from tests.ingest import scenarios
from tests.ingest.detection.histories import history, nanoseconds
from tests.ingest.detection.rounds_going_on import live
from tests.ingest.detection.test_memory import GB, GIB, ROUND_S, held, rising
from tests.ingest.scenarios import Scenario


def in_steps(scenario: Scenario) -> History:
    return replace(history(scenario), words=STEPS)


def plain(said: str) -> str:
    """The same, once it is sure that it speaks of no round and no worker."""
    assert not re.search(r"\b(rounds?|workers?)\b", said, re.IGNORECASE), said
    return said


def test_stragglers() -> None:
    (verdict,) = straggler.judge(in_steps(scenarios.always_slower(1.45))).lasting
    assert re.search(r"\(slow in \d of the last steps\)", plain(verdict.observed))
    many = scenarios.exchange(
        "many", scenarios.crew(16), rounds=2, train=30.0,
        encode=lambda worker, _index: 20.0 if int(worker.removeprefix("rank-")) < 6 else 2.0,
    )  # fmt: skip
    (verdict,) = straggler.judge(in_steps(many)).once
    assert "on 6 ranks" in plain(verdict.observed)


def test_open_phases() -> None:
    scenario = scenarios.exchange(
        "slow", scenarios.crew(16), rounds=8, train=30.0,
        encode=lambda worker, index: 50.0 if index == 7 and int(worker.removeprefix("rank-")) < 6 else 2.0,
    )  # fmt: skip
    looked = replace(live(scenario, scenario.rounds[-1][0] + 30 + 20), words=STEPS)
    (verdict,) = (one for one in slow_phase.judge(looked).verdicts if one.kind == "slow_phase")
    assert plain(verdict.observed).startswith("encode still runs on 6 ranks after ")


def test_memory() -> None:
    (grows,) = memory.judge(replace(held(rising(9, 0.4 * GB)), words=STEPS)).verdicts
    assert "a step (steps 2 to 8: " in plain(grows.observed)
    (stays,) = memory.judge(replace(held([5 * GIB, 5 * GIB], after=[20 * GIB] * 40), words=STEPS)).verdicts
    assert "more than after step 0" in plain(stays.observed)
    floors = [3 * GIB, 3 * GIB, 4 * GIB, 6 * GIB, 3 * GIB, 5 * GIB, 7 * GIB, 3 * GIB, 5 * GIB]
    at = [Collected(time_ns=nanoseconds(index * ROUND_S + 50)) for index in (4, 7)]
    (cycle,) = memory.judge(replace(held(floors, collections=at), words=STEPS)).verdicts
    assert "falls between steps only where" in plain(cycle.observed)


def test_work_on_the_path_and_checks() -> None:
    known = in_steps(scenarios.exchange("all", scenarios.crew(4), rounds=4, train=20.0, encode=9.0))
    said = [plain(verdict.observed) for verdict in work_on_path.judge(known, {})]
    assert any(one.startswith("Steps waited 9.0 s each for encode, ") for one in said)
    begin, end = (Boundary(of=of, name="encode", first=False) for of in (Of.BEGIN, Of.END))
    check = Interval(name="encoding", begin=(begin,), end=(end,), most_s=1.0, asked=True)
    (failed,) = interval_checks.judge(known, (), (check,))
    assert re.fullmatch(
        r"It took 9\.0 s in step 3; the check allows 1 s\. 3 of the last 3 steps failed\.", plain(failed.observed)
    )


def test_thresholds_that_are_told() -> None:
    known = replace(thresholds.of({"straggler.clean_rounds": 5.0}, {}), words=STEPS)
    (verdict,) = known.said(straggler.judge(in_steps(scenarios.always_slower(1.45))).lasting)
    (told,) = verdict.evidence["thresholds"]
    assert plain(told["words"]) == "Clean steps: 5 steps, set for the team; the default is 3 steps"


def test_what_could_not_be_measured() -> None:
    known = in_steps(scenarios.exchange("all", scenarios.crew(2), rounds=1, train=20.0, encode=9.0))
    begin, end = (Boundary(of=Of.BEGIN, name=name, first=False) for name in ("encode", "round trip"))
    asked = Interval(name="trip", begin=(begin,), end=(end,), asked=True)
    given = round_analysis.Given(
        index=0, begin_ns=nanoseconds(0), end_ns=known.windows[0].end_ns, trainers=np.array([1, 2]),
        workers=known.workers, spans=known.spans, intervals=(asked,), words=STEPS,
    )  # fmt: skip
    told = round_analysis.told(given)
    (one,) = told["intervals"]
    # The name of a phase stays as it is.
    assert one["abstained"] == "the step has no last start of round trip"
    plain(told["communication"]["abstained"])
    plain(told["what_if"]["abstained"])
