"""What REST says a round waited for: it adds up, is computed when it is asked for, and follows late data."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from dashboard.teams import tokens
from ingest.detection import round_analysis
from ingest.feed.connection import client
from ingest.feed.starting import QUEUE
from ingest.models import Analysis, Phase, Round
from ingest.queries import analysing
from ingest.queries import rounds as round_queries
from ingest.store import analyses, deletion, rounds
from ingest.tasks import analyse_round, judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.scenarios import Did, Scenario
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db
FIELDS = ("gpu_waiting", "critical_path", "what_if", "intervals", "communication")


def asked(cast: Cast, path: str, **query: Any) -> Any:
    token = tokens.issue(cast.team, "script", ("read",))
    response = Client(headers={"authorization": f"Bearer {token}"}).get(f"/api/v1/runs/{path}", query)
    assert response.status_code == 200, response.content
    return response.json()


def told(cast: Cast, scenario: Scenario, *, judged: bool = True) -> Story:
    story = Story(cast.team, scenario)
    story.tell()
    if judged:
        for index in range(len(scenario.rounds)):
            judge_round(str(story.run.pk), index, 0)
    return story


def short(rounds_told: int = 3) -> Scenario:
    return scenarios.exchange(
        "short rounds",
        scenarios.crew(2),
        rounds=rounds_told,
        train=0.5,
        encode=0.2,
        upload=0.1,
        aggregate=0.1,
        apply=0.1,
    )


def test_the_path_sums_to_the_wall_time_and_names_the_slow_encoder(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders())

    one = asked(cast, f"{story.run.pk}/rounds/1")

    path = one["critical_path"]
    assert [(part["worker"], part["phase"], part["kind"], part["seconds"], part["gap"]) for part in path] == [
        ("rank-7", "train", "compute", 30.0, False), ("rank-7", "encode", "encode", 18.0, False),
        ("rank-7", "upload", "transfer", 1.0, False), ("coordinator", "aggregate", "aggregate", 3.0, False),
        ("rank-0", "apply", "apply", 13.0, False),
    ]  # fmt: skip
    assert sum(round(part["seconds"] * 1e6) for part in path) == round(one["wall_s"] * 1e6) == 65_000_000
    assert (path[0]["start"], path[-1]["end"]) == (one["start"], one["end"])
    assert [part["start"] for part in path[1:]] == [part["end"] for part in path[:-1]]


def test_gpu_waiting_sums_to_the_rounds_figure_and_says_what_others_lost(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders())

    one = asked(cast, f"{story.run.pk}/rounds/1")

    assert sum(part["seconds"] for part in one["gpu_waiting"]) == pytest.approx(one["gpu_waiting_share"] * 65)
    lost = {(part["worker"], part["phase"]): part["others_gpu_seconds"] for part in one["gpu_waiting"]}
    assert lost["rank-7", "encode"] + lost["rank-7", "upload"] == pytest.approx(225.7, abs=0.1)


def test_communication_stands_beside_the_gpu_waiting_it_does_not_explain(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders())

    said = asked(cast, f"{story.run.pk}/rounds/1")["communication"]

    assert said["comm_share"] == pytest.approx(1 / 65)
    assert (said["band"], said["abstained"]) == ("healthy", "")
    assert said["exchange_share"] == pytest.approx(35 / 65)
    assert sum(said["waiting_s"].values()) == pytest.approx(35)


def test_what_if_says_what_one_fix_saves_and_what_both_do(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders())

    first, *fixes = asked(cast, f"{story.run.pk}/rounds/1")["what_if"]

    assert sorted(item["worker"] for item in first["scope"]["joint"]) == ["rank-6", "rank-7"]
    assert first["seconds_saved"] == pytest.approx(15.7)
    (one,) = [fix for fix in fixes if fix["scope"] == {"worker": "rank-7", "phase": "encode"}]
    assert one["seconds_saved"] == pytest.approx(0.2)
    assert one["seconds_added"] == pytest.approx(16.07, abs=0.01)


def test_intervals_are_measured_by_events_and_open_into_what_is_instrumented(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell(0)
    _, end = story.scenario.rounds[1]
    coordinator = story.recorders["coordinator"]
    for name, at in (("aggregated", end - 13), ("sync start", end - 13), ("synchronised", end - 1), ("other", end - 2)):
        coordinator.event(name, story.at(at), round=1)
    story.tell(1)
    judge_round(str(story.run.pk), 1, 0)

    first, second = asked(cast, f"{story.run.pk}/rounds/1")["intervals"]

    assert (first["name"], first["seconds"], first["check"], first["passed"]) == (
        "aggregation to sync start", 0.0, None, None,
    )  # fmt: skip
    assert (second["name"], second["seconds"], second["not_instrumented_s"]) == (
        "sync start to last synchronised", 12.0, 0.0,
    )  # fmt: skip
    assert [(part["phase"], part["gap"]) for part in second["parts"]] == [("apply", False)]


def test_a_round_is_the_same_in_the_list_and_a_page_of_long_paths_ends_early(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told(cast, scenarios.two_slow_encoders(4))
    path = f"{story.run.pk}/rounds"
    detail = [asked(cast, f"{path}/{index}") for index in range(4)]

    assert asked(cast, path) == {"items": detail, "next": None}
    size = len(str(Analysis.objects.get(round__index=0).content))
    monkeypatch.setattr(round_queries, "_MOST_PAGE_CHARS", int(size * 1.2))
    first = asked(cast, path)
    assert first["items"] == detail[:2]
    assert asked(cast, path, cursor=first["next"]) == {"items": detail[2:], "next": None}


def test_short_rounds_are_analysed_when_somebody_asks_for_one(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    story = told(cast, short())
    assert not Analysis.objects.exists()
    assert [one["critical_path"] for one in asked(cast, f"{story.run.pk}/rounds")["items"]] == [None] * 3

    one = asked(cast, f"{story.run.pk}/rounds/1")

    assert sum(round(part["seconds"] * 1e6) for part in one["critical_path"]) == round(one["wall_s"] * 1e6)
    assert [row.round.index for row in Analysis.objects.all()] == [1]
    monkeypatch.delattr(round_analysis, "analyse")
    assert asked(cast, f"{story.run.pk}/rounds/1") == one
    assert asked(cast, f"{story.run.pk}/rounds")["items"][1] == one


def test_a_round_of_very_many_phases_is_analysed_by_celery_and_null_until_then(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told(cast, short())
    path = f"{story.run.pk}/rounds/1"
    monkeypatch.setattr(analysing, "MOST_AT_ONCE", Phase.objects.filter(run_id=story.run.pk, round=1).count() - 1)
    client().delete(QUEUE)

    assert asked(cast, path)["critical_path"] is None
    (waiting,) = client().lrange(QUEUE, 0, -1)
    assert b"ingest.analyse_round" in waiting
    assert not Analysis.objects.exists()

    client().delete(QUEUE)
    analyse_round(str(story.run.pk), 1, 0)
    assert asked(cast, path)["critical_path"] is not None
    assert client().llen(QUEUE) == 0
    monkeypatch.undo()
    Analysis.objects.all().delete()
    assert asked(cast, path)["critical_path"] is not None


def test_late_data_replaces_the_analysis(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders())
    before = asked(cast, f"{story.run.pk}/rounds/1")["critical_path"]

    # rank-7's host tells later that it had been loading for most of what looked like encoding.
    did = next(did for did in story.scenario.phases if (did.worker, did.name, did.round) == ("rank-7", "encode", 1))
    start = Phase.objects.get(
        run_id=story.run.pk, worker_id=story.run.workers.get(name="rank-7").pk, round=1, begin_ns=story.at(did.begin_s)
    ).start_number
    recorder = story.recorders["rank-7"]
    recorder.phase("data", story.at(did.begin_s + 1), story.at(did.end_s), round=1, parent=start)
    store(cast.team, [recorder.batch()])
    assert asked(cast, f"{story.run.pk}/rounds/1")["critical_path"] is None
    rounds.close_ended(story.run.pk)
    judge_round(str(story.run.pk), 1, 0)

    after = asked(cast, f"{story.run.pk}/rounds/1")["critical_path"]
    assert [part["phase"] for part in before] == ["train", "encode", "upload", "aggregate", "apply"]
    assert [part["phase"] for part in after] == ["train", "encode", "data", "upload", "aggregate", "apply"]
    assert Analysis.objects.filter(round__index=1).count() == 1


def test_an_analysis_of_older_data_never_replaces_a_newer_one(cast: Cast) -> None:
    told(cast, scenarios.two_slow_encoders())
    row = Analysis.objects.get(round__index=1)
    analyses.save(row.pk, row.version - 1, {"older": True})
    assert Analysis.objects.get(pk=row.pk).content == row.content
    analyses.save(0, 1, {"of": "a round that is gone"})
    assert Analysis.objects.count() == 2


def test_in_a_pipeline_the_path_goes_through_the_round_before(cast: Cast) -> None:
    # rank-0 computes round 1 from 20 s on, while its update of round 0 travels until 35 s.
    phases = (
        Did("rank-0", 0, "train", 0, 20), Did("rank-0", 0, "upload", 20, 35, thread=1),
        Did("rank-0", 1, "train", 20, 30), Did("rank-0", 1, "encode", 35.5, 40),
    )  # fmt: skip
    crew = (scenarios.Who("rank-0", machine="a"),)
    story = told(cast, Scenario("pipelined", crew, ((0.0, 35.0), (20.0, 40.0)), phases))

    path = asked(cast, f"{story.run.pk}/rounds/1")["critical_path"]

    assert [(part["phase"], part["seconds"], part["gap"]) for part in path] == [
        ("upload", 15.0, False), ("encode", 0.5, True), ("encode", 4.5, False),
    ]  # fmt: skip
    assert [part["kind"] for part in path] == ["transfer", "other", "encode"]


def test_a_round_is_summed_up_again_when_it_is_known_what_its_workers_did_in_the_next(cast: Cast) -> None:
    # Nobody waits at the end of round 0: rank-0 computes round 1 from 20 s on, while rank-1 is at its apply until 30 s.
    phases = (
        Did("rank-0", 0, "train", 0, 15), Did("rank-0", 0, "apply", 15, 20), Did("rank-1", 0, "train", 0, 15),
        Did("rank-1", 0, "apply", 15, 30), Did("rank-0", 1, "train", 20, 40), Did("rank-1", 1, "train", 30, 40),
    )  # fmt: skip
    crew = (scenarios.Who("rank-0", machine="a"), scenarios.Who("rank-1", machine="a"))
    story = Story(cast.team, Scenario("no barrier", crew, ((0.0, 30.0), (20.0, 40.0)), phases))
    key = str(story.run.pk) if story.tell(0) else ""

    def share_and_sum(index: int) -> tuple[float, float]:
        one = asked(cast, f"{key}/rounds/{index}")
        return one["gpu_waiting_share"], sum(part["seconds"] for part in one["gpu_waiting"]) / one["wall_s"]

    judge_round(key, 0, 0)
    assert share_and_sum(0) == (pytest.approx(0.5), pytest.approx(0.5))

    story.tell(1)
    judge_round(key, 1, 0)

    assert share_and_sum(0) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert share_and_sum(1) == (pytest.approx(0.25), pytest.approx(0.25))


def test_what_is_open_gone_or_without_phases_is_null(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders(), judged=False)
    Round.objects.filter(run=story.run, index=0).update(closed=False)
    Phase.objects.filter(run_id=story.run.pk, round=1).delete()

    for index in (0, 1):
        one = asked(cast, f"{story.run.pk}/rounds/{index}")
        assert [one[field] for field in FIELDS] == [None] * 5
    assert not Analysis.objects.exists()


def test_analyses_go_with_their_run(cast: Cast) -> None:
    story = told(cast, scenarios.two_slow_encoders())
    assert Analysis.objects.count() == 2

    assert deletion.begin(story.run.pk) is True

    assert not Analysis.objects.exists()


def test_hostile_names_and_attributes_are_told_as_text(cast: Cast) -> None:
    scenario = scenarios.two_slow_encoders()
    odd = tuple(
        replace(did, name="<b>x</b>\u202e" if did.name == "encode" else did.name, attrs={"after": "<b>x</b>\u202e"})
        for did in scenario.phases
    )
    story = told(cast, replace(scenario, phases=odd))

    path = asked(cast, f"{story.run.pk}/rounds/1")["critical_path"]

    assert sum(round(part["seconds"] * 1e6) for part in path) == 65_000_000
    assert "<b>x</b>\u202e" in {part["phase"] for part in path}
