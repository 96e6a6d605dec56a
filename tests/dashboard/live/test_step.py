"""A step as the page asks for it: by rank and phase, waits apart, and who came last."""

from typing import Any

import pytest
from django.test import Client

from ingest.store.rounds import close_ended
from tests.cast import Cast, browser_of
from tests.ingest.batches import Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN_NS = 1_790_000_000 * 10**9
MS = 10**6
LOADED_MS = {"rank-0": 2, "rank-1": 101, "rank-2": 1}


@pytest.fixture
def page(cast: Cast) -> str:
    """Three ranks, of which the second was slow to load in step 0; in step 1 its all-reduce was lost."""
    for rank, (name, loaded) in enumerate(LOADED_MS.items()):
        recorder = Recorder(name, rank=rank, began_ns=BEGIN_NS).begin()
        for index in (0, 1):
            start = BEGIN_NS + index * 300 * MS
            recorder.begin_round(index, start)
            recorder.phase("data", start, start + loaded * MS, round=index)
            recorder.phase("backward", start + loaded * MS, start + (loaded + 50) * MS, round=index)
            if index == 0 or name != "rank-1":
                reduced = start + 160 * MS
                recorder.phase(
                    "allreduce", start + (loaded + 50) * MS, reduced, round=index, process_group="0", seq=index
                )
            recorder.end_round(index, start + 200 * MS)
        deliver(cast.team.id, recorder.finish(BEGIN_NS + 600 * MS).batch(alive=False))
    run = cast.team.runs.get()
    close_ended(run.pk)
    return f"/runs/{run.pk}/live/step"


def asked(client: Client, page: str, status: int = 200) -> Any:
    answer = client.get(page)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_step_tells_each_ranks_parts_their_waits_and_who_came_last(cast: Cast, page: str) -> None:
    said = asked(browser_of(cast.viewer), f"{page}?round=0")
    assert [(part["name"], part["kind"], part["collective"]) for part in said["parts"]] == [
        ("data", "input", False), ("backward", "compute", False), ("allreduce", "transfer", True),
    ]  # fmt: skip
    assert [rank["name"] for rank in said["ranks"]] == list(LOADED_MS)
    assert said["ranks"][1]["seconds"] == [0.101, 0.05, 0.009]
    assert [rank["waited"][2] for rank in said["ranks"]] == [0.099, 0.0, 0.1]
    assert (said["round"], said["seconds"]) == (0, 0.2)
    (judged,) = said["verdicts"]
    assert (judged["ranks"], judged["culprit"], judged["victim"], judged["cause"]) == ([0, 1, 2], 1, 2, "data")
    assert (judged["share"], judged["blamed"], judged["critical"], judged["abstained"]) == (0.5, True, True, "")


def test_of_very_many_phases_the_collectives_and_the_longest_are_told(
    cast: Cast, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.live.steps.MOST_PARTS", 2)
    said = asked(browser_of(cast.viewer), f"{page}?round=0")
    assert [part["name"] for part in said["parts"]] == ["backward", "allreduce"]
    assert said["left_out"] == 1
    assert said["ranks"][1]["seconds"] == [0.05, 0.009]
    assert said["verdicts"][0]["cause"] == "data"


def test_where_a_part_of_a_collective_is_missing_nobody_is_named(cast: Cast, page: str) -> None:
    said = asked(browser_of(cast.viewer), f"{page}?round=1")
    assert said["ranks"][1]["seconds"][2] is None
    assert {rank["waited"][2] for rank in said["ranks"]} == {None}
    assert [judged["culprit"] for judged in said["verdicts"]] == [None]


def test_a_step_that_is_not_there_and_one_of_another_team_are_not_found(cast: Cast, page: str) -> None:
    for index in (2, 1 << 31, (1 << 62) - 1):
        assert asked(browser_of(cast.viewer), f"{page}?round={index}", 404)["error"]["code"] == "not_found"
    assert asked(browser_of(cast.viewer), page, 422)["error"]["field"] == "round"
    assert asked(browser_of(cast.stranger), f"{page}?round=0", 404)
