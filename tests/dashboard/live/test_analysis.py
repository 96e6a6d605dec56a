"""A round's analysis as the page asks for it: computed once, exact, and only for people of the team."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from ingest.detection import round_analysis
from ingest.feed.connection import client
from ingest.feed.starting import QUEUE
from ingest.models import Analysis, Phase, Round
from ingest.queries import analysing
from ingest.store.rounds import close_ended
from ingest.tasks import analyse_round
from tests.cast import Cast, browser_of
from tests.ingest.batches import SECOND, Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN_NS = 1_790_000_000 * 10**9
ENCODES_S = {"trainer-0": 4, "trainer-1": 2, "trainer-2": 2}


@pytest.fixture
def page(cast: Cast) -> str:
    """Three trainers, of which one encodes twice as long; a second before their round's end nobody records; then one
    round that is still open."""
    for name, encoded in ENCODES_S.items():
        recorder = Recorder(name, began_ns=BEGIN_NS).begin()
        at = [BEGIN_NS + second * SECOND for second in range(32)]
        recorder.begin_round(0, at[0]).phase("train", at[0], at[10], round=0)
        recorder.phase("encode", at[10], at[10 + encoded], round=0).phase("wait", at[10 + encoded], at[14], round=0)
        recorder.phase("apply", at[14], at[19], round=0, after="encode").end_round(0, at[20])
        recorder.begin_round(1, at[20]).phase("train", at[20], at[30], round=1)
        deliver(cast.team.id, recorder.batch())
    run = cast.team.runs.get()
    close_ended(run.pk)
    return f"/runs/{run.pk}/live/analysis"


def asked(client: Client, page: str, status: int = 200) -> Any:
    answer = client.get(page)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_round_tells_two_sums_their_parts_in_order_and_what_would_save_time(cast: Cast, page: str) -> None:
    said = asked(browser_of(cast.viewer), f"{page}?round=0")
    assert (said["state"], said["wall_ns"], said["trainers"]) == ("ready", 20 * SECOND, 3)
    assert said["begin_ns"] == str(BEGIN_NS)
    path = said["path"]
    assert [(one["phase"], one["gap"], one["ns"] // SECOND) for one in path] == [
        ("train", False, 10), ("encode", False, 4), ("apply", False, 5), ("", True, 1),
    ]  # fmt: skip
    assert path[1]["worker"] == "trainer-0"
    assert [one["at_ns"] for one in path] == [0, 10 * SECOND, 14 * SECOND, 19 * SECOND]
    assert sum(one["ns"] for one in path) == said["wall_ns"]
    assert sum(one["own_ns"] + one["others_ns"] for one in said["waiting"]) == said["waiting_ns"] == 30 * SECOND
    (encode,) = [one for one in said["waiting"] if one["worker"] == "trainer-0" and one["phase"] == "encode"]
    assert (encode["own_ns"], encode["others_ns"]) == (4 * SECOND, 4 * SECOND)
    (fix,) = [one for one in said["what_if"]["fixes"] if one["scope"] == {"worker": "trainer-0", "phase": "encode"}]
    assert fix["saved_ns"] == 2 * SECOND


def test_an_analysis_is_computed_once_for_all_who_ask_and_anew_for_newer_data(
    cast: Cast, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[round_analysis.Given] = []
    told = round_analysis.told

    def counted(given: round_analysis.Given) -> dict[str, Any]:
        computed.append(given)
        return told(given)

    monkeypatch.setattr(round_analysis, "told", counted)

    def ask(client: Client) -> Any:
        try:
            return asked(client, f"{page}?round=0")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(ask, [browser_of(cast.viewer) for _ in range(4)]))
    assert len(computed) == 1
    assert all(one == said[0] for one in said)
    Round.objects.filter(index=0).update(data_version=Analysis.objects.get().version + 1)
    asked(browser_of(cast.viewer), f"{page}?round=0")
    assert len(computed) == 2


def test_a_round_that_is_open_and_one_whose_phases_are_gone_say_so(cast: Cast, page: str) -> None:
    said = asked(browser_of(cast.viewer), f"{page}?round=1")
    assert (said["state"], "path" in said) == ("open", False)
    Phase.objects.all().delete()
    assert asked(browser_of(cast.viewer), f"{page}?round=0")["state"] == "absent"


def test_a_round_that_is_not_there_and_one_of_another_team_are_not_found(cast: Cast, page: str) -> None:
    for index in (2, 1 << 31, (1 << 62) - 1):
        assert asked(browser_of(cast.viewer), f"{page}?round={index}", 404)["error"]["code"] == "not_found"
    assert asked(browser_of(cast.viewer), page, 422)["error"]["field"] == "round"
    assert asked(browser_of(cast.stranger), f"{page}?round=0", 404)
    assert asked(Client(), f"{page}?round=0", 401)["error"]["code"] == "not_signed_in"


def test_of_a_round_of_very_many_phases_it_says_that_it_is_asked_for(
    cast: Cast, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysing, "MOST_AT_ONCE", 5)
    client().delete(QUEUE)

    said = asked(browser_of(cast.viewer), f"{page}?round=0")

    assert (said["state"], "path" in said) == ("asked", False)
    assert any(b"ingest.analyse_round" in one for one in client().lrange(QUEUE, 0, -1))
    client().delete(QUEUE)
    analyse_round(str(cast.team.runs.get().pk), 0, 0)
    assert asked(browser_of(cast.viewer), f"{page}?round=0")["state"] == "ready"
