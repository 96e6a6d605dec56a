"""What stays alive though it should be gone: objects that a training asked to be remembered, and full collections."""

import gc
import signal
import time
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from roundwatch import allocated
from tests.agents.recorder import Recording, Row


class Model:
    """Something that can be referenced weakly."""


class Coordinator:
    def __init__(self) -> None:
        self.history: list[dict[str, Model]] = [{}, {}]


coordinator = Coordinator()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, and with all that a test process holds, a whole search can take longer than it may."""
    monkeypatch.setattr("roundwatch.track_paths.MAX_S", 60)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Without the cyclic collector, which would free at some time what only it can free."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def rounds(recording: Recording, count: int) -> None:
    for _ in range(count):
        recording.run.next_round()


def retained(recording: Recording) -> list[Row]:
    return [row for row in recording.of("event") if row.name == "retained"]


def test_an_object_alive_two_rounds_later_is_told_with_the_container_and_key_that_hold_it(recording: Recording) -> None:
    recording.run.next_round()
    coordinator.history[1]["model"] = Model()
    recording.run.track(coordinator.history[1]["model"], "fallback")
    recording.run.next_round()
    assert not retained(recording)
    recording.run.next_round()
    [row] = retained(recording)
    path = row.attrs.pop("path")
    assert path.endswith("coordinator.history[1]['model']"), path
    where = {"container": "dict", "key": "['model']"}
    assert row.attrs == {"label": "fallback", "rounds": 2, "type": f"{__name__}.Model", "held_by": "a name", **where}
    assert row.record.round == 2


def test_what_is_let_go_is_not_told(recording: Recording) -> None:
    coordinator.history[0]["model"] = Model()
    recording.run.track(coordinator.history[0]["model"], "model")
    rounds(recording, 2)
    assert len(retained(recording)) == 1
    coordinator.history[0].clear()
    rounds(recording, 10)
    assert len(retained(recording)) == 1


def test_the_search_itself_keeps_nothing_alive(quiet: None, recording: Recording) -> None:
    model = Model()
    recording.run.track(model, "model")
    rounds(recording, 2)
    [row] = retained(recording)
    assert row.attrs["path"].endswith("alive(): model")
    reference = weakref.ref(model)
    del model
    assert reference() is None


def test_a_reference_cycle_is_told_as_one_and_not_after_it_is_cleared(quiet: None, recording: Recording) -> None:
    def aggregate() -> None:
        models = [Model()]
        namespace: dict[str, object] = {"models": models}

        def again() -> object:
            return namespace

        namespace["again"] = again
        recording.run.track(models[0], "models")

    aggregate()
    rounds(recording, 2)
    [row] = retained(recording)
    assert row.attrs["held_by"] == "a cycle"
    assert row.attrs["path"].endswith("(): namespace['models'][0]")
    gc.collect()
    rounds(recording, 10)
    assert len(retained(recording)) == 1


def test_what_stays_is_told_again_ever_more_seldom(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundwatch.track.SHARE", 0)
    model = Model()
    recording.run.track(model, "model")
    rounds(recording, 20)
    assert [row.attrs["rounds"] for row in retained(recording)] == [2, 4, 8, 16]


def test_looking_takes_a_small_part_of_a_trainings_time(recording: Recording) -> None:
    models = [Model() for _ in range(50)]
    for model in models:
        recording.run.track(model, "model")
    rounds(recording, 3)
    assert 1 <= len(retained(recording)) < len(models)


def test_a_search_that_ran_out_of_time_says_so(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundwatch.track_paths.MAX_S", 0)
    coordinator.history[0]["model"] = Model()
    recording.run.track(coordinator.history[0]["model"], "model")
    rounds(recording, 2)
    [row] = retained(recording)
    told = (row.attrs["held_by"], row.attrs["search_cut"])
    assert told == ("not found", True)


@pytest.mark.parametrize("thing", [{}, [], 7])
def test_what_cannot_be_referenced_weakly_is_left_out_without_a_word_to_the_training(
    recording: Recording, thing: object
) -> None:
    recording.run.track(thing, "thing")
    rounds(recording, 3)
    assert not retained(recording)


def test_a_full_collection_is_told_with_the_memory_before_and_after(quiet: None, recording: Recording) -> None:
    recording.run.next_round()
    ballast = bytearray(64 << 20)
    holder: list[object] = [ballast]
    holder.append(holder)
    del holder, ballast
    before = time.monotonic_ns()
    gc.collect()
    paused = time.monotonic_ns() - before
    gc.collect(0)  # of the young ones nobody is told
    recording.run.next_round()
    recording.read()
    [row] = [row for row in recording.rows if row.name == "gc"]
    assert row.attrs["memory_before_bytes"] - row.attrs["memory_after_bytes"] > 60 << 20
    assert row.attrs["collected"] >= 1
    assert 0 < row.attrs["seconds"] <= paused / 1e9
    assert before <= row.record.t0
    assert row.record.round == 0


def test_what_a_collection_frees_inside_a_heap_is_told_though_the_kernel_gets_nothing_back(
    quiet: None, recording: Recording
) -> None:
    if allocated.reader() is None:
        pytest.skip("this C library does not tell what it has handed out")
    recording.run.next_round()
    # Each too small to be mapped by itself; the last of all, which stays, is above them in the heap.
    holder: list[object] = [bytes(60_000) for _ in range(500)]
    above = bytes(60_000)
    holder.append(holder)
    del holder
    gc.collect()
    recording.run.next_round()
    recording.read()
    [row] = [row for row in recording.rows if row.name == "gc"]
    assert row.attrs["allocated_before_bytes"] - row.attrs["allocated_after_bytes"] >= 500 * 60_000
    assert len(above) == 60_000


def test_a_collection_during_which_the_clock_went_back_is_told_without_how_long_it_took(
    quiet: None, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic_ns()
    clock = iter([now, now - 10**9])
    recording.run.next_round()
    with monkeypatch.context() as stepping:
        stepping.setattr("roundwatch.track_collector.time", SimpleNamespace(monotonic_ns=lambda: next(clock)))
        gc.collect()
    recording.run.next_round()
    recording.read()
    [row] = [row for row in recording.rows if row.name == "gc"]
    assert "seconds" not in row.attrs
    assert {"collected", "memory_before_bytes", "memory_after_bytes"} <= row.attrs.keys()


def test_after_the_end_nobody_listens_to_the_collector(recording: Recording) -> None:
    listening = len(gc.callbacks)
    recording.run.finish()
    assert len(gc.callbacks) == listening - 1


def test_the_search_changes_no_dict_of_locals_that_somebody_holds(recording: Recording) -> None:
    model, rate = Model(), 0.1
    settings = locals()
    settings["rate"], settings["more"] = 0.5, 1
    before = dict(settings)

    def suspended() -> Iterator[object]:
        mine = [model]
        yield locals()
        yield mine

    generator = suspended()
    theirs = next(generator)
    recording.run.track(model, "model")
    rounds(recording, 3)
    assert len(retained(recording)) == 1
    assert settings == before
    assert theirs == {"mine": [model], "model": model}
    assert rate == 0.1


class Rude(type):
    """A metaclass whose classes tell nothing of themselves."""

    def __getattribute__(cls, name: str) -> object:
        if name in ("__module__", "__qualname__", "__mro__", "__dict__", "__name__"):
            raise ArithmeticError(name)
        return type.__getattribute__(cls, name)


class Untold(metaclass=Rude):
    pass


class Unwilling:
    def __getattribute__(self, name: str) -> object:
        raise ArithmeticError(name)

    def __hash__(self) -> int:
        return hash("__name__")

    def __eq__(self, _: object) -> bool:
        raise ArithmeticError("equal")


def _in_attribute(kind: type, model: Model) -> object:
    holder = kind()
    object.__setattr__(holder, "model", model)
    return holder


HOSTILE = {
    "an attribute of what refuses its own": (lambda model: _in_attribute(Unwilling, model), ".model"),
    "an attribute of what has no class to name": (lambda model: _in_attribute(Untold, model), ".model"),
    "a dict of keys that cannot be compared": (lambda model: {Unwilling(): model}, "[Unwilling]"),
}


@pytest.mark.parametrize(("make", "key"), HOSTILE.values(), ids=HOSTILE)
def test_the_search_runs_no_code_of_what_holds_an_object(
    recording: Recording, caplog: pytest.LogCaptureFixture, make: Callable[[Model], object], key: str
) -> None:
    model = Model()
    holder = make(model)
    recording.run.track(model, "model")
    del model
    rounds(recording, 3)
    [row] = retained(recording)
    assert holder is not None
    assert row.attrs["key"].endswith(key)
    assert row.attrs["path"].endswith(f"(): holder{key}")
    assert not caplog.messages


def test_of_a_large_container_only_a_part_is_looked_at(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundwatch.track_links.MOST_LOOKED_AT", 10)
    looked_into: list[int] = []
    listed = gc.get_referents

    def counted(held: object) -> list[object]:
        parts = listed(held)
        looked_into.append(len(parts))
        return parts

    monkeypatch.setattr("roundwatch.track_paths.gc.get_referents", counted)
    models = [*([None] * 3_333), Model()]
    recording.run.track(models[-1], "model")
    rounds(recording, 2)
    [row] = retained(recording)
    assert row.attrs["key"] == "[...]"
    assert 3_334 not in looked_into


def test_a_part_of_a_boundary_that_fails_is_told_once_and_the_others_go_on(
    recording: Recording, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("as it happens")

    monkeypatch.setattr("roundwatch.track.search", fail)
    monkeypatch.setattr("roundwatch.rounds.SELDOM_NS", 0)
    model = Model()
    recording.run.track(model, "model")
    rounds(recording, 6)
    assert [message for message in caplog.messages if "as it happens" in message] == [
        "roundwatch: what a round brings with it fails, and is left out from here on: ArithmeticError: as it happens"
    ]
    assert len(recording.of("round")) == 11


def test_what_a_signal_handler_of_the_training_raises_within_a_boundary_passes_on(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timeout(*_: object) -> None:
        raise TimeoutError("of the training")

    before = signal.signal(signal.SIGUSR1, timeout)
    monkeypatch.setattr("roundwatch.track.search", lambda _: signal.raise_signal(signal.SIGUSR1))
    model = Model()
    recording.run.track(model, "model")
    try:
        with pytest.raises(TimeoutError):
            rounds(recording, 3)
    finally:
        signal.signal(signal.SIGUSR1, before)
