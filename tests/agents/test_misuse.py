"""What a training calls wrongly never raises into it: it is said once, counted, and everything else is recorded."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from roundwatch import misuse
from roundwatch.attributes import MAX_ITEMS
from tests.agents.recorder import Recording

WRONG: dict[str, Callable[[Any], object]] = {
    "a round of two": lambda run: run.round(1, 2),
    "a round by another word": lambda run: run.round(idx=1),
    "an index for the next round": lambda run: run.next_round(7),
    "a step of two": lambda run: run.step(1, 2),
    "an event without a name": lambda run: run.event(),
    "attributes that are not named": lambda run: run.event("e", {"a": 1}),
    "a name and a number": lambda run: run.log("loss", 0.5),
    "a number alone": lambda run: run.log(0.5),
    "a text": lambda run: run.log(loss="low"),
    "half a progress": lambda run: run.progress(1),
    "a phase without its round": lambda run: run.record_phase("x", 1, 2),
    "a phase at no time": lambda run: run.record_phase("x", "then", "now", round=1),
    "a sample without a time": lambda run: run.record_sample("x", 1.0),
    "attributes of a phase that are not named": lambda run: run.phase("x", {"nbytes": 1}),
    "attributes set without names": lambda run: run.phase("x").set({"nbytes": 1}),
}


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misuse, "_known", misuse._Known())


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_said_once_and_counted_and_the_training_goes_on(
    recording: Recording, caplog: pytest.LogCaptureFixture, wrong: Callable[[Any], object]
) -> None:
    for _ in range(3):
        wrong(recording.run)
    [told] = caplog.messages
    assert told.startswith("roundwatch: ")
    recording.run.finish()
    assert caplog.messages[1:] == ["roundwatch: 3 things that the training told were left out; the reasons are above"]
    assert recording.of("lifecycle")[-1].attrs == {"state": "finished"}


SHOWN_OTHERWISE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a kind that is none": (lambda run: run.phase("push", kind="network"), "compute, input, encode, transfer"),
    "bytes as a text": (lambda run: run.phase("push", nbytes="3 MB"), "nbytes is no number, but a str"),
    "items as a list": (lambda run: run.phase("push", items=[1, 2]), "items is no number, but a list"),
    "a long name": (lambda run: run.phase("x" * 129), "cut to 128"),
}


@pytest.mark.parametrize(("call", "says"), SHOWN_OTHERWISE.values(), ids=SHOWN_OTHERWISE)
def test_a_phase_that_is_shown_otherwise_than_it_was_called_is_said_once(
    recording: Recording, caplog: pytest.LogCaptureFixture, call: Callable[[Any], Any], says: str
) -> None:
    for _ in range(3):
        with call(recording.run):
            pass
    assert len(recording.phases()) == 3
    [told] = caplog.messages
    assert says in told


def test_right_calls_say_nothing(recording: Recording, caplog: pytest.LogCaptureFixture) -> None:
    run = recording.run
    run.next_round()
    with run.phase("train", nbytes=1, kind="compute") as phase:
        phase.set(items=2)
        run.progress(1, 2)
    with run.phase("x" * 128, nbytes=np.int64(3), items=2.5):
        pass
    run.log({"loss": 1.0}, accuracy=0.5)
    run.log()
    run.finish("killed")
    assert caplog.messages == []


def test_rounds_and_steps_that_are_called_wrongly_are_recorded_all_the_same(recording: Recording) -> None:
    run: Any = recording.run
    with run.round(3):
        pass
    with run.round(1, 2):
        assert list(run.steps([1, 2], "loader")) == [1, 2]
    run.next_round("x", y=1)
    assert [row.record.round for row in recording.of("round")] == [3, 3, 4, 4, 5]
    assert [row.name for row in recording.phases()].count("step") == 2


def test_numbers_are_taken_by_keyword_and_from_a_mapping(recording: Recording) -> None:
    recording.run.log(loss=0.5)
    recording.run.log({"loss": 0.25, "lr": 1}, metrics=2)
    assert [(row.name, row.record.t1) for row in recording.of("sample")] == [
        ("loss", 0.5), ("loss", 0.25), ("lr", 1.0), ("metrics", 2.0),
    ]  # fmt: skip


class Endless(dict[str, float]):
    """A mapping that says how many of its entries were asked for, and would never end."""

    seen = 0

    def items(self) -> Iterator[tuple[str, float]]:  # type: ignore[override]
        while True:
            self.seen += 1
            yield f"m{self.seen % 7}", 1.0


def test_a_call_with_very_many_numbers_is_walked_no_further_than_it_is_recorded(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    endless = Endless()
    recording.run.log(endless, loss=1.0)
    assert endless.seen == MAX_ITEMS + 1
    assert len(recording.of("sample")) == MAX_ITEMS
    assert "2000 numbers" in caplog.text


def test_an_attribute_may_be_called_name_and_a_name_may_be_given_by_its_keyword(recording: Recording) -> None:
    with recording.run.phase("load", name="w.pt"), recording.run.phase(name="train"), recording.run.phase():
        pass
    assert [(row.name, row.attrs) for row in recording.phases()] == [
        ("(unnamed)", {}), ("train", {}), ("load", {"name": "w.pt"}),
    ]  # fmt: skip


@pytest.mark.parametrize("state", ["broken", None, [], 5])
def test_an_end_that_is_none_is_said_to_be_finished(
    recording: Recording, caplog: pytest.LogCaptureFixture, state: Any
) -> None:
    recording.run.finish(state)
    assert [row.attrs for row in recording.of("lifecycle")] == [{"state": "finished"}]
    assert "finish() takes finished, failed, killed" in caplog.text
    assert recording.reader.end_state() == "finished"


def test_a_wrong_call_without_anything_to_iterate_raises_what_the_loop_would(recording: Recording) -> None:
    run: Any = recording.run
    with pytest.raises(TypeError):
        run.steps()
    with pytest.raises(TypeError):
        next(run.steps(5))
