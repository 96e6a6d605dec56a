"""A census of tensors is harmless where there are none, where torch is not there, and to processes that fork."""

import importlib.machinery
import sys
import types

import pytest

from roundwatch import misuse
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
from tests.agents.recorder import Recording, Row


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misuse, "_known", misuse._Known())


def censuses(recording: Recording) -> list[Row]:
    return [row for row in recording.of("event") if row.name == "census"]


WITHOUT_TORCH = """
import sys, roundwatch
run = roundwatch.init("p", run_id="r")
for _ in range(3):
    run.next_round()
run.finish()
print([name for name in sys.modules if name.split(".")[0] == "torch" or name.startswith("roundwatch.torch")])
"""


def test_a_training_without_torch_stays_without_it_and_tells_no_census(site: Site, collector: Collector) -> None:
    site.environment["ROUNDWATCH_CENSUS"] = "1"
    site.shipper()
    assert site.run(f"import sys; sys.stderr = sys.stdout\n{WITHOUT_TORCH}").splitlines()[1:] == ["[]"]
    until(lambda: "finish" in collector.worker().turns() and collector.worker().whole(), "all has arrived")
    assert [row["round"] for row in collector.worker().of("round") if row["ended"]] == [0, 1, 2]
    assert not [row for row in collector.worker().of("event") if row["name"] == "census"]


def test_who_asks_for_one_without_torch_is_told_once_why_there_is_none(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for _ in range(3):
        recording.run.census()
    assert not censuses(recording)
    [message] = caplog.messages
    assert "census() counts tensors of torch, which nothing here has imported" in message
    assert "torch" not in sys.modules


def test_torch_that_another_thread_still_imports_is_not_waited_for(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = types.ModuleType("torch")
    half.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    half.__spec__._initializing = True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", half)
    recording.run.census()
    assert not censuses(recording)


@pytest.mark.parametrize("state", ["finished", "forked"])
def test_a_run_that_says_nothing_any_more_takes_none(recording: Recording, state: str) -> None:
    if state == "finished":
        recording.run.finish()
    else:
        recording.ring.silence()  # as in a forked child
    recording.run.census()
    assert recording.run._census is None
