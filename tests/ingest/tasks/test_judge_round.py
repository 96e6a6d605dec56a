"""A closed round becomes figures and findings, the same however often and in whatever order it is judged."""

import datetime as dt
from dataclasses import replace

import pytest
import redis
from django.conf import settings
from django.db.models import F

from ingest.detection import imbalance, round_analysis, straggler, summary
from ingest.feed import frames
from ingest.feed.frames import FrameType
from ingest.feed.publisher import feed_key
from ingest.models import Analysis, Finding, Round, Run
from ingest.models.findings import FindingState
from ingest.queries import artifacts, logged
from ingest.queries.unjudged import unjudged
from ingest.store import findings, rounds
from ingest.tasks import judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.scenarios import Scenario
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db


def judge(story: Story, *indexes: int) -> None:
    for index in indexes:
        for row in Round.objects.filter(run=story.run, index=index).order_by("generation"):
            judge_round(str(story.run.pk), row.index, row.generation)


def lasting_for_a_while(rounds_told: int = 14) -> Scenario:
    """rank-3 encodes slowly in rounds 6, 7 and 8."""
    return scenarios.exchange(
        "for three rounds", scenarios.crew(8), rounds=rounds_told, train=30.0,
        encode=lambda worker, index: 6.0 if worker == "rank-3" and index in (6, 7, 8) else 2.0,
    )  # fmt: skip


def test_the_slow_encoders_become_one_resolved_finding_with_marks_on_their_bars(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())

    assert [(one.index, one.generation) for one in story.tell()] == [(0, 0), (1, 0)]
    judge(story, 0, 1)

    (finding,) = Finding.objects.filter(run=story.run, kind="straggler")
    assert (finding.kind, finding.phase, finding.state, finding.severity) == (
        "straggler", "encode", "resolved", "warning",
    )  # fmt: skip
    assert finding.workers == ["rank-6", "rank-7"]
    assert finding.rounds == [1]
    assert finding.opened_at == finding.resolved_at
    assert finding.observed.startswith("encode took 17.8 s on rank-6 and 18.0 s on rank-7")
    assert "machine-3" in finding.hypothesis
    lanes = {worker.index: worker.name for worker in story.run.workers.all()}
    assert sorted((lanes[lane], index) for _, _, lane, index in finding.spans) == [("rank-6", 1), ("rank-7", 1)]
    streams = {stream.index: stream for stream in story.run.streams.all()}
    for attempt, start, lane, _ in finding.spans:
        assert streams[attempt].worker.index == lane
        assert start in range(streams[attempt].highest)


def test_a_rounds_figures_are_stored_with_the_version_of_the_data_they_come_from(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()
    judge(story, 0, 1)

    row = Round.objects.get(run=story.run, index=1)
    assert row.verdict_version == row.data_version > 0
    assert row.trainers == 16
    assert row.coverage == pytest.approx(1, abs=1e-6)
    assert row.gpu_waiting_share == pytest.approx(1 - 30 / 65, abs=1e-6)
    assert row.kind_seconds is not None
    assert row.kind_seconds[0] == pytest.approx(30)
    assert row.kind_seconds[2] == pytest.approx((17.8 + 18 + 14 * 1.9) / 16, abs=0.01)
    assert row.kind_seconds[3] == pytest.approx(1)
    assert sum(row.kind_seconds) == pytest.approx(65, abs=1e-6)
    assert row.judged is not None
    assert {sight["phase"] for sight in row.judged} == {"train", "encode", "upload", "aggregate", "apply"}


def test_what_could_not_have_been_seen_is_said(cast: Cast) -> None:
    story = Story(cast.team, scenarios.pair(6.0, 17.0))
    story.tell()
    judge(story, 0, 1)

    judged = {sight["phase"]: sight for sight in Round.objects.get(run=story.run, index=1).judged or []}
    assert judged["prepare"]["abstained"] == "noise not known yet: less than 3.0 x is not named"
    assert judged["prepare"]["smallest_ratio"] == 3.0
    assert judged["aggregate"]["abstained"] == "nothing to compare with yet"
    assert Finding.objects.filter(kind="straggler").count() == 0


def test_work_on_the_path_is_told_once_and_goes_on_until_the_run_ends(cast: Cast) -> None:
    story = Story(cast.team, lasting_for_a_while(9))
    story.tell(0)
    judge(story, 0)
    assert not Finding.objects.filter(kind="work_on_path").exists()
    story.tell(*range(1, 9))
    judge(story, *range(1, 9))

    found = Finding.objects.filter(run=story.run, kind="work_on_path").order_by("phase")
    assert [(row.phase, row.severity, row.state, row.rounds, row.spans, row.hypothesis) for row in found] == [
        (phase, "info", "open", [], [], "") for phase in ("aggregate", "apply", "encode")
    ]


def test_a_heavier_pipeline_stage_is_told_as_one_fact(cast: Cast) -> None:
    heavier = scenarios.exchange(
        "stages", scenarios.crew(4), rounds=6, encode=2.0,
        train=lambda worker, _index: 30.0 if worker in ("rank-2", "rank-3") else 20.0,
    )  # fmt: skip
    story = Story(cast.team, heavier)
    story.tell()
    story.run.workers.filter(name__in=["rank-2", "rank-3"]).update(group="stage-1")
    judge(story, *range(6))

    (fact,) = Finding.objects.filter(run=story.run, kind="imbalance")
    assert (fact.phase, fact.severity, fact.workers) == ("train", "info", ["rank-2", "rank-3"])
    assert not Finding.objects.filter(run=story.run, kind="straggler").exists()


def test_an_exploding_gradient_is_found_and_over_when_it_is(cast: Cast) -> None:
    story = Story(cast.team, scenarios.healthy(2, 6))
    recorder = story.recorders["rank-0"]

    def log(*values: float) -> None:
        for value in values:
            recorder.sample("grad_norm", value, recorder.last_ns + 1)
        store(cast.team, [recorder.batch()])

    story.tell(0, 1)
    log(*[1.0] * 12)
    judge(story, 0, 1)
    assert not Finding.objects.filter(kind="training_unhealthy").exists()
    story.tell(2)
    log(20.0)
    judge(story, 2)
    found = Finding.objects.get(run=story.run, kind="training_unhealthy")
    assert (found.state, found.severity, found.workers) == ("open", "warning", ["rank-0"])
    assert found.observed == "grad_norm is 20, 20 times its usual 1 on rank-0."
    assert found.hypothesis == ""  # nothing is read of it
    story.tell(3)
    recorder.sample("host_cpu_utilization", 0.5, recorder.last_ns + 1)
    log(30.0)
    judge(story, 3)
    found.refresh_from_db()
    assert found.hypothesis == "The infrastructure looks normal."

    # It is not over for having lasted until nothing of the time before is read any more.
    story.tell(4)
    log(*[30.0] * 200)
    judge(story, 4)
    found.refresh_from_db()
    assert (found.state, found.observed) == ("open", "grad_norm is 30, 30 times its usual 1 on rank-0.")

    story.tell(5)
    log(1.1)
    judge(story, 5)
    found.refresh_from_db()
    assert found.state == "resolved"


def test_what_was_saved_and_never_loaded_says_so_until_it_is_loaded(cast: Cast) -> None:
    scenario = scenarios.exchange(
        "with a fallback", scenarios.crew(2), rounds=3, train=20.0, encode=1.0, aggregate=5.0, apply=1.0
    )
    saved = {did.round: {"artifact": f"model-{did.round}", "after": "upload"} for did in scenario.phases}
    saving = tuple(
        replace(did, name="save", attrs=saved[did.round]) if did.name == "aggregate"
        else replace(did, attrs={"after": "save"}) if did.name == "apply" else did
        for did in scenario.phases
    )  # fmt: skip
    story = Story(cast.team, replace(scenario, phases=saving))
    story.tell(0, 1)
    judge(story, 0, 1)
    before = Finding.objects.get(run=story.run, phase="save")
    assert before.evidence["loaded_later"] is False
    assert before.observed.endswith("Nothing of what it saved was loaded since.")

    recorder = story.recorders["rank-0"]
    recorder.phase("load", story.at(60), story.at(61), round=-1, artifact="model-1")
    store(cast.team, [recorder.batch()])
    story.tell(2)
    judge(story, 2)

    before.refresh_from_db()
    assert before.evidence["loaded_later"] is True
    assert before.hypothesis == ""


@pytest.mark.parametrize("days", [0, 1], ids=["in the run's days", "before them"])
def test_only_partitions_of_the_runs_own_days_are_read(cast: Cast, days: int) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    recorder = story.recorders["rank-0"]
    recorder.sample("loss", 1.0, recorder.last_ns + 1)
    recorder.phase("save", story.at(1), story.at(2), round=0, artifact="model")
    recorder.phase("load", story.at(3), story.at(4), round=0, artifact="model")
    store(cast.team, [recorder.batch()])
    Run.objects.filter(pk=story.run.pk).update(first_day=F("last_day") + dt.timedelta(days=days))
    run = story.run

    assert bool(logged.newest(run, ["loss"])) is not bool(days)
    assert artifacts.loaded_later(run, 0, 0) == ({} if days else {"save": True})


def test_a_rule_that_fails_takes_no_verdict_of_another_with_it(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def divides_by_nothing(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    def asks_for_what_is_not_there(*_: object) -> None:
        Round.objects.raw("SELECT id, nothing FROM ingest_round")[0]

    monkeypatch.setattr(imbalance, "judge", divides_by_nothing)
    monkeypatch.setattr(logged, "newest", asks_for_what_is_not_there)
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()
    judge(story, 0, 1)

    assert set(Finding.objects.values_list("kind", flat=True)) == {"straggler", "work_on_path"}
    assert Round.objects.get(run=story.run, index=1).verdict_version is not None
    failed = {record.getMessage().split(" failed")[0] for record in caplog.records if record.exc_info}
    assert failed == {"The rule for imbalance", "The rule for training_unhealthy"}


def test_an_analysis_that_fails_takes_nothing_else_of_its_round_with_it(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()

    def fails(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(round_analysis, "told", fails)
    judge(story, 0, 1)

    assert not Analysis.objects.exists()
    assert set(Round.objects.values_list("verdict_version", flat=True)) == set(
        Round.objects.values_list("data_version", flat=True)
    )


def test_what_a_rule_that_fails_has_said_before_stays(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(cast.team, lasting_for_a_while(9))
    story.tell(*range(8))
    judge(story, *range(8))
    before = Finding.objects.get(run=story.run, kind="straggler", fingerprint__startswith="straggler:")

    def fails(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(straggler, "judge", fails)
    story.tell(8)
    judge(story, 8)

    after = Finding.objects.get(pk=before.pk)
    assert (after.version, after.state) == (before.version, "open")


def test_judging_again_changes_nothing(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders(3))
    story.tell()
    judge(story, 0, 1, 2)
    before = stored()

    judge(story, 2, 0, 1, 2)

    assert stored() == before


def stored() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    return list(Finding.objects.order_by("pk").values()), list(Round.objects.order_by("pk").values())


def test_a_round_that_is_gone_or_open_again_is_not_judged(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell(0)
    story.tell(1, but=["rank-6"])
    judge_round(str(story.run.pk), 1, 0)
    judge_round(str(story.run.pk), 7, 0)
    judge_round("00000000-0000-0000-0000-000000000000", 0, 0)

    assert Round.objects.get(run=story.run, index=1).verdict_version == -1
    assert Finding.objects.filter(kind="straggler").count() == 0


def test_late_data_is_judged_anew_and_takes_back_what_it_disproves(cast: Cast) -> None:
    scenario = scenarios.two_slow_encoders()
    story = Story(cast.team, scenario)
    story.tell()
    judge(story, 0, 1)
    told = Finding.objects.get(run=story.run, kind="straggler")
    assert told.workers == ["rank-6", "rank-7"]

    # What looked like encoding was mostly a wait nested in it, of which its host told later.
    for did in scenario.phases:
        if (did.name, did.round) == ("encode", 1) and did.worker in told.workers:
            recorder = story.recorders[did.worker]
            start = next(s for s in told.spans if s[2] == story.run.workers.get(name=did.worker).index)[1]
            recorder.phase("wait", story.at(did.begin_s + 1), story.at(did.end_s - 1), round=1, parent=start)
            store(cast.team, [recorder.batch()])
    assert [one.index for one in rounds.close_ended(story.run.pk)] == [1]
    row = Round.objects.get(run=story.run, index=1)
    assert row.verdict_version < row.data_version
    judge(story, 1)

    told.refresh_from_db()
    assert (told.state, told.workers, told.spans, told.severity) == ("resolved", [], [], "info")
    assert told.observed == "Records that came later show no slow worker."


def test_an_incident_opens_once_goes_on_and_is_resolved_after_three_clean_rounds(cast: Cast) -> None:
    story = Story(cast.team, lasting_for_a_while())
    seen = []
    for index in range(14):
        story.tell(index)
        judge(story, index)
        row = Finding.objects.filter(run=story.run, fingerprint="straggler:encode").first()
        seen.append(row and (row.state, row.rounds, row.workers))

    assert seen[:7] == [None] * 7
    assert seen[7] == ("open", [6, 7], ["rank-3"])
    assert seen[8] == seen[9] == seen[10] == ("open", [6, 7, 8], ["rank-3"])
    assert seen[11] == seen[13] == ("resolved", [6, 7, 8], ["rank-3"])
    incident = Finding.objects.get(run=story.run, fingerprint="straggler:encode")
    ends = dict(Round.objects.filter(run=story.run).values_list("index", "end_ns"))
    assert incident.opened_at.timestamp() == pytest.approx(ends[7] / 1e9, abs=1e-5)
    assert incident.resolved_at is not None
    assert incident.resolved_at.timestamp() == pytest.approx(ends[11] / 1e9, abs=1e-5)
    # The round before it was known to come back stands by itself.
    assert [row.rounds for row in Finding.objects.filter(run=story.run, kind="straggler").exclude(pk=incident.pk)] == [
        [6]
    ]


def test_the_order_of_judgement_does_not_matter_in_the_end(cast: Cast) -> None:
    story, other = Story(cast.team, lasting_for_a_while(10)), Story(cast.team, lasting_for_a_while(10), key="run-2")
    other.begin_ns = story.begin_ns
    story.tell()
    other.tell()
    judge(story, *range(10))
    judge(other, 9, 3, 7, 8, 6, *range(10))

    assert told(story) == told(other)
    assert len(told(story)) == 2


def told(story: Story) -> list[tuple[object, ...]]:
    rows = Finding.objects.filter(run=story.run, kind="straggler").order_by("fingerprint")
    return [(row.fingerprint, row.state, row.workers, row.rounds, row.observed, row.evidence) for row in rows]


def test_an_incident_of_a_run_that_has_ended_is_over(cast: Cast) -> None:
    story = Story(cast.team, lasting_for_a_while(9))
    story.tell()
    judge(story, *range(9))
    incident = Finding.objects.get(run=story.run, fingerprint="straggler:encode")
    assert incident.state == FindingState.OPEN

    assert findings.resolve_of_ended_runs() == {}
    story.finish()
    resolved = findings.resolve_of_ended_runs()
    assert list(resolved) == [story.run.pk]
    assert incident in resolved[story.run.pk]
    assert {row.state for row in resolved[story.run.pk]} == {FindingState.RESOLVED}

    incident.refresh_from_db()
    assert incident.state == FindingState.RESOLVED
    assert incident.resolved_at == story.run.ended_at
    judge(story, 8)
    incident.refresh_from_db()
    assert incident.state == FindingState.RESOLVED


def test_short_rounds_are_judged_together_when_their_window_is_whole(cast: Cast) -> None:
    scenario = scenarios.exchange(
        "rounds of three seconds", scenarios.crew(8), rounds=15, aggregate=0.0, apply=0.0, upload=0.0, encode=0.5,
        train=lambda worker, index: 5.5 if worker == "rank-1" and index >= 10 else 2.5,
    )  # fmt: skip
    story = Story(cast.team, scenario)
    story.tell(*range(13))
    judge(story, *range(9, 13))
    assert not Finding.objects.filter(kind="straggler").exists()
    judged = Round.objects.filter(run=story.run, judged__isnull=False)
    assert sorted(judged.values_list("index", flat=True)) == [5, 6, 7, 8, 9]

    story.tell(13, 14)
    judge(story, 13, 14)

    (finding,) = Finding.objects.filter(run=story.run, kind="straggler")
    assert (finding.phase, finding.workers, finding.rounds) == ("train", ["rank-1"], [10, 11, 12, 13, 14])
    assert len(finding.spans) == 5


def test_a_restarted_round_is_judged_in_its_newest_generation(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()
    judge(story, 0, 1)
    healthy = Story(cast.team, scenarios.two_slow_encoders(4), key=story.key, begin_ns=story.begin_ns + 10**9)
    healthy.tell(0, 1)  # the same run again, by new attempts, and nobody is slow in round 1

    assert sorted(Round.objects.filter(run=story.run).values_list("index", "generation")) == [
        (0, 0), (0, 1), (1, 0), (1, 1),
    ]  # fmt: skip
    judge(story, 0, 1)

    (finding,) = Finding.objects.filter(run=story.run, kind="straggler")
    assert (finding.state, finding.workers, finding.spans) == ("resolved", [], [])
    older = Round.objects.get(run=story.run, index=1, generation=0)
    assert older.verdict_version == older.data_version
    assert older.gpu_waiting_share is not None


def test_what_training_code_writes_into_attributes_never_stops_a_judgement(cast: Cast) -> None:
    scenario = scenarios.two_slow_encoders()
    odd = ["many", -1, 0, 10**400, True, None, [1], {"a": 1}, 1e300, "NaN", 5e-324]
    attrs = [{"items": value, "nbytes": value, "after": "no such phase"} for value in odd]
    hostile = replace(
        scenario,
        phases=tuple(replace(did, attrs=attrs[place % len(attrs)]) for place, did in enumerate(scenario.phases)),
    )
    story = Story(cast.team, hostile)
    story.tell()
    judge(story, 0, 1)

    assert Finding.objects.get(run=story.run, kind="straggler").workers == ["rank-6", "rank-7"]


def test_viewers_are_told_of_the_figures_and_the_finding(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()
    judge(story, 0, 1)

    entries = redis.Redis.from_url(settings.REDIS_URL).xrange(feed_key(story.run.pk))
    sent = [frame for _, entry in entries for frame in frames.decode(entry[b"f"])]
    (found,) = [payload["json"] for kind, payload in sent if kind == FrameType.FINDING]
    assert [(one["kind"], one["phase"], one["workers"]) for one in found] == [
        ("straggler", "encode", ["rank-6", "rank-7"]), ("work_on_path", "apply", ["rank-0"]),
        ("work_on_path", "encode", ["rank-7"]),
    ]  # fmt: skip
    steps = [payload for kind, payload in sent if kind == FrameType.STEP]
    assert steps[-1]["index"].tolist() == [1]
    assert steps[-1]["waiting"][0] == pytest.approx(1 - 30 / 65, abs=1e-4)


def test_a_phase_of_another_worker_told_by_one_stream_is_judged_as_that_workers(cast: Cast) -> None:
    scenario = scenarios.two_slow_encoders()
    story = Story(cast.team, scenario)
    teller = story.recorders["coordinator"]
    for index, (begin_s, end_s) in enumerate(scenario.rounds):
        teller.begin_round(index, story.at(begin_s))
        for did in scenario.phases:
            if did.round == index:
                who = None if did.worker == "coordinator" else did.worker
                teller.phase(did.name, story.at(did.begin_s), story.at(did.end_s), round=index, worker=who)
        teller.end_round(index, story.at(end_s))
    store(cast.team, [teller.batch()])
    rounds.close_ended(story.run.pk)
    judge(story, 0, 1)

    (finding,) = Finding.objects.filter(run=story.run, kind="straggler")
    assert finding.workers == ["rank-6", "rank-7"]
    lanes = {worker.index: worker.name for worker in story.run.workers.all()}
    assert {lanes[lane] for _, _, lane, _ in finding.spans} == {"rank-6", "rank-7"}


def test_a_round_that_cannot_be_judged_is_tried_five_times_and_again_with_new_data(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders(1))
    story.tell()
    tries: list[int] = []

    def fails(*_: object) -> None:
        tries.append(len(tries))
        raise ValueError("not today")

    with monkeypatch.context() as broken:
        broken.setattr(summary, "figures", fails)
        for _ in range(5):
            assert [one.index for one in unjudged(10)] == [0]
            with pytest.raises(ValueError, match="not today"):
                judge(story, 0)
        assert unjudged(10) == []
        judge(story, 0)
        assert len(tries) == 5
        assert [record.getMessage() for record in caplog.records if "last time" in record.getMessage()] == [
            f"Round 0 of run {story.run.pk} is judged for the last time until more of it is known."
        ]
    Round.objects.update(data_version=F("data_version") + 1)
    assert [one.index for one in unjudged(10)] == [0]
    judge(story, 0)
    assert unjudged(10) == []
    assert Round.objects.get().coverage is not None


def test_what_has_its_verdict_may_be_judged_however_often(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders(1))
    story.tell()
    for _ in range(8):
        judge(story, 0)
    assert Round.objects.get().tries == 1
