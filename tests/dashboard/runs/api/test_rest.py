"""What scripts read over REST: shapes, pages, times, and figures that add up."""

import datetime as dt
import time
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from dashboard.teams import tokens
from ingest.models import Event, Finding, Phase, Run, Sample, Series, Stream, WorkerRound
from ingest.store import deletion
from ingest.tasks import delete_run, judge_round
from roundwatch import wire
from tests.cast import Cast, browser_of
from tests.ingest import scenarios
from tests.ingest.batches import HostRecorder, Recorder
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db


class Script:
    """Asks as a script does: with a token and nothing else."""

    def __init__(self, cast: Cast, *scopes: str, team: Any = None) -> None:
        token = tokens.issue(team or cast.team, "script", scopes or ("read",))
        self._client = Client(headers={"authorization": f"Bearer {token}"}, enforce_csrf_checks=True)

    def get(self, path: str, **query: Any) -> Any:
        response = self._client.get(f"/api/v1{path}", query)
        assert response.status_code == 200, response.content
        return response.json()

    def items(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All pages."""
        found, cursor = [], None
        while True:
            page = self.get(path, **query, **({"cursor": cursor} if cursor else {}))
            found += page["items"]
            if (cursor := page["next"]) is None:
                return found

    def send(self, method: str, path: str, body: Any = None) -> Any:
        return self._client.generic(method, f"/api/v1{path}", b"" if body is None else _json(body), "application/json")


def _json(body: Any) -> bytes:
    import json

    return body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.fixture
def script(cast: Cast) -> Script:
    return Script(cast)


@pytest.fixture
def story(cast: Cast) -> Story:
    told = Story(cast.team, scenarios.two_slow_encoders())
    told.tell()
    for index in (0, 1):
        judge_round(str(told.run.pk), index, 0)
    return told


def rfc3339(text: str) -> dt.datetime:
    assert len(text) == len("2026-11-29T12:00:00.000000Z")
    assert text.endswith("Z")
    return dt.datetime.fromisoformat(text)


def test_a_run_says_what_it_is_and_how_far_it_has_come(script: Script, story: Story) -> None:
    run = story.run

    (listed,) = script.items("/runs")
    assert listed == script.get(f"/runs/{run.pk}")
    asked = ("id", "key", "project", "name", "state", "rounds_done", "rounds_planned")
    assert {name: listed[name] for name in asked} == {
        "id": str(run.pk), "key": "run-1", "project": "digits", "name": run.name, "state": "running",
        "rounds_done": 2, "rounds_planned": 2,
    }  # fmt: skip
    assert rfc3339(listed["started_at"]) == run.started_at
    assert listed["ended_at"] is None
    assert listed["tags"] == []


def test_workers_are_listed_in_order_with_their_clock(script: Script, story: Story) -> None:
    workers = script.items(f"/runs/{story.run.pk}/workers", limit=5)

    assert [worker["name"] for worker in workers] == [who.name for who in story.scenario.workers]
    assert workers[0]["role"] == "coordinator"
    assert workers[7]["machine"] == "machine-3"
    assert workers[7]["clock_error_s"] == 0.000001
    rfc3339(workers[0]["last_seen"])


def test_each_attempt_tells_its_own_conditions(script: Script, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_ns = time.time_ns() - 10**12
    for worker, drivers in (("rank-0", ("550", "560")), ("rank-1", ("560",))):
        for life, driver in enumerate(drivers):
            recorder = Recorder(worker, began_ns=begin_ns + life * 10**9)
            store(cast.team, [recorder.begin(conditions={"driver": driver, "cpus": 8}).batch()])
    run = Run.objects.get()
    path = f"/runs/{run.pk}/conditions"

    for limit in (1, 2, 1000):
        told = script.items(path, limit=limit)
        assert [(one["worker"], one["attempt"], one["conditions"]["driver"]) for one in told] == [
            ("rank-0", 0, "550"), ("rank-0", 1, "560"), ("rank-1", 0, "560"),
        ]  # fmt: skip
    assert rfc3339(told[1]["started"]).timestamp() == pytest.approx(begin_ns / 1e9 + 1, abs=1e-5)
    assert (told[0]["machine"], told[0]["role"]) == ("machine-1", "trainer")
    assert [one["worker"] for one in script.items(path, worker="rank-1")] == ["rank-1"]
    assert script.get(path, worker="nobody") == {"items": [], "next": None}
    monkeypatch.setattr("ingest.queries.conditions._MOST_PAGE_CHARS", 1)
    assert [len(script.get(path)["items"]), len(script.items(path))] == [1, 3]


def test_rounds_carry_their_figures(script: Script, story: Story) -> None:
    rounds = script.items(f"/runs/{story.run.pk}/rounds", limit=1)

    assert [(one["index"], one["generation"]) for one in rounds] == [(0, 0), (1, 0)]
    one = script.get(f"/runs/{story.run.pk}/rounds/1")
    assert one == rounds[1]
    assert one["wall_s"] == 65.0
    assert (rfc3339(one["end"]) - rfc3339(one["start"])).total_seconds() == one["wall_s"]
    assert one["coverage"] == pytest.approx(1)
    assert one["gpu_waiting_share"] == pytest.approx(1 - 30 / 65)
    assert one["kind_seconds"]["compute"] == pytest.approx(30)
    assert {sight["phase"] for sight in one["judged"]} == {"train", "encode", "upload", "aggregate", "apply"}


def test_a_round_is_answered_in_its_newest_generation_unless_asked(script: Script, cast: Cast, story: Story) -> None:
    Story(cast.team, story.scenario, key=story.key, begin_ns=story.begin_ns + 10**9).tell(0)
    path = f"/runs/{story.run.pk}/rounds"

    assert [(one["index"], one["generation"]) for one in script.items(path)] == [(0, 0), (0, 1), (1, 0)]
    assert script.get(f"{path}/0")["generation"] == 1
    assert script.get(f"{path}/0", generation=0)["generation"] == 0


def test_a_running_round_has_no_end_yet(script: Script, cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_slow_encoders())
    store(cast.team, [story.recorders["rank-0"].begin_round(0, story.begin_ns).batch()])

    one = script.get(f"/runs/{story.run.pk}/rounds/0")
    assert (one["end"], one["wall_s"], one["closed"], one["coverage"]) == (None, None, False, None)


def test_phases_are_found_by_round_worker_and_name_with_what_they_carried(script: Script, cast: Cast) -> None:
    scenario = scenarios.two_slow_encoders()
    story = Story(cast.team, replace(scenario, phases=tuple(replace(d, attrs={"nbytes": 7}) for d in scenario.phases)))
    story.tell()
    path = f"/runs/{story.run.pk}/phases"

    (one,) = script.items(path, round=1, worker="rank-6", name="encode")
    did = next(did for did in scenario.phases if (did.worker, did.round, did.name) == ("rank-6", 1, "encode"))
    assert (rfc3339(one.pop("end")) - rfc3339(one.pop("start"))).total_seconds() == one["seconds"] == 17.8
    assert did.end_s - did.begin_s == pytest.approx(17.8)
    assert one == {
        "worker": "rank-6", "round": 1, "name": "encode", "kind": "encode", "seconds": 17.8, "state": "ok",
        "attrs": {"nbytes": 7},
    }  # fmt: skip
    assert len(script.items(path, round=0)) == 16 * 4 + 1
    assert len(script.items(path, worker="rank-6")) == 8
    assert script.items(path, worker="nobody") == []


def test_pages_of_any_length_give_every_phase_once_and_in_order(script: Script, story: Story) -> None:
    path = f"/runs/{story.run.pk}/phases"
    whole = script.get(path, limit=1000)

    assert whole["next"] is None
    assert len(whole["items"]) == len(story.scenario.phases)
    assert [one["start"] for one in whole["items"]] == sorted(one["start"] for one in whole["items"])
    assert script.items(path, limit=7) == whole["items"]
    assert script.items(path, limit=len(whole["items"])) == whole["items"]


def test_from_is_included_and_to_is_not(script: Script, story: Story) -> None:
    path = f"/runs/{story.run.pk}/phases"
    starts = sorted({one["start"] for one in script.items(path)})

    within = script.items(path, **{"from": starts[2], "to": starts[5]})
    assert {one["start"] for one in within} == set(starts[2:5])
    second = script.get(f"/runs/{story.run.pk}/rounds/1")["start"]
    assert [one["index"] for one in script.items(f"/runs/{story.run.pk}/rounds", **{"from": second})] == [1]
    assert [one["index"] for one in script.items(f"/runs/{story.run.pk}/rounds", to=second)] == [0]
    assert script.items("/runs", **{"from": "2199-01-01T00:00:00Z"}) == []
    assert len(script.items("/runs", **{"from": "0001-01-01T00:00:00+14:00", "to": "9999-12-31T23:59:59-12:00"})) == 1


def test_samples_of_workers_and_of_their_machines_while_the_run_ran(script: Script, cast: Cast, story: Story) -> None:
    recorder, host = story.recorders["rank-0"], HostRecorder(machine="machine-0", began_ns=story.begin_ns)
    before = HostRecorder(machine="machine-elsewhere", began_ns=story.begin_ns)
    second = 10**9
    for place, value in enumerate([0.5, "nan", "inf", "-inf", 2**53]):
        recorder.sample("loss", value, story.begin_ns + place * second, source="training")
    recorder.sample("memory", 5.0, story.begin_ns, device="gpu0", unit="B")
    host.sample("cpu", 0.1, story.begin_ns - 3600 * second)
    host.sample("cpu", 0.2, story.begin_ns + second, unit="1")
    before.sample("cpu", 0.9, story.begin_ns + second)
    store(cast.team, [recorder.batch(), host.batch(), before.batch()])
    path = f"/runs/{story.run.pk}/samples"

    assert [one["value"] for one in script.items(path, metric="loss", limit=2)] == [0.5, "nan", "inf", "-inf", 2**53]
    (cpu,) = script.items(path, metric="cpu")
    assert cpu == {
        "worker": None, "machine": "machine-0", "device": "", "metric": "cpu", "unit": "1", "value": 0.2,
        "time": cpu["time"],
    }  # fmt: skip
    (memory,) = script.items(path, worker="rank-0", metric="memory")
    assert (memory["device"], memory["unit"], memory["machine"]) == ("gpu0", "B", "machine-0")
    assert script.items(path, worker="rank-1") == []
    every = script.items(path)
    assert every == script.items(path, limit=1)
    assert [one["time"] for one in every] == sorted(one["time"] for one in every)
    assert len(script.items(path, **{"from": memory["time"], "to": cpu["time"]})) == 2


def test_findings_of_a_run_and_of_the_team_by_state(script: Script, story: Story) -> None:
    listed = script.items(f"/runs/{story.run.pk}/findings")
    (one,) = [finding for finding in listed if finding["kind"] == "straggler"]
    facts = [finding for finding in listed if finding is not one]

    assert sorted((fact["kind"], fact["severity"], fact["state"], fact["phase"]) for fact in facts) == [
        ("work_on_path", "info", "open", "apply"), ("work_on_path", "info", "open", "encode"),
    ]  # fmt: skip
    assert one["run"] == str(story.run.pk)
    assert (one["kind"], one["state"], one["phase"], one["workers"], one["rounds"]) == (
        "straggler", "resolved", "encode", ["rank-6", "rank-7"], [1],
    )  # fmt: skip
    assert one["observed"].startswith("encode took 17.8 s")
    assert one["evidence"]["cohorts"][0]["workers"] == 16
    assert rfc3339(one["opened_at"]) == rfc3339(one["resolved_at"])
    assert script.items("/findings") == listed
    assert script.items("/findings", state="resolved") == [one]
    assert script.items("/findings", state="open") == facts


def test_lists_of_runs_and_findings_go_on_where_they_stopped(script: Script, cast: Cast) -> None:
    for place in range(5):
        story = Story(cast.team, scenarios.healthy(2, 1), key=f"run-{place}")
        story.tell()
        now = story.run.started_at
        for number in range(3):
            Finding.objects.create(run=story.run, kind="x", fingerprint=f"x:{number}", opened_at=now, updated_at=now)

    for path, count in (("/runs", 5), ("/findings", 15)):
        whole = script.get(path)["items"]
        assert len(whole) == count
        assert script.items(path, limit=1) == script.items(path, limit=2) == whole
    starts = [one["started_at"] for one in script.items("/runs")]
    assert starts == sorted(starts, reverse=True)
    assert [one["key"] for one in script.items("/runs", project="digits", state="running")] != []
    assert script.items("/runs", project="other") == []


def test_name_tags_and_notes_can_be_changed(cast: Cast, story: Story) -> None:
    admin = Script(cast, "read", "admin")

    answer = admin.send("PATCH", f"/runs/{story.run.pk}", {"name": "baseline", "tags": ["a", "b", "a"]})
    assert answer.status_code == 200
    assert (answer.json()["name"], answer.json()["tags"], answer.json()["rounds_done"]) == ("baseline", ["a", "b"], 2)
    assert admin.send("PATCH", f"/runs/{story.run.pk}", {"notes": "<b>&\u202e"}).json()["notes"] == "<b>&\u202e"
    assert admin.send("PATCH", f"/runs/{story.run.pk}", {}).status_code == 200

    run = Run.objects.get(pk=story.run.pk)
    assert (run.name, run.tags, run.notes) == ("baseline", ["a", "b"], "<b>&\u202e")


def test_as_many_and_as_long_tags_may_be_given_as_a_training_may_send(cast: Cast) -> None:
    tags = [str(place).rjust(wire.MAX_NAME_CHARS, "x") for place in range(wire.MAX_TAGS)]
    recorder = Recorder(began_ns=time.time_ns()).begin(tags=tags)
    assert store(cast.team, [recorder.batch()])[0].rejected == 0
    run = Run.objects.get()
    assert run.tags == tags
    answer = Script(cast, "admin").send("PATCH", f"/runs/{run.pk}", {"tags": tags[::-1]})
    assert (answer.status_code, answer.json()["tags"]) == (200, tags[::-1])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"), ({"name": "x" * 129}, "name"), ({"name": "a\0b"}, "name"), ({"name": "\ud800"}, "name"),
        ({"name": None}, "name"), ({"name": 5}, "name"), ({"tags": [""]}, "tags"), ({"tags": ["x" * 129]}, "tags"),
        ({"tags": ["a\0"]}, "tags"), ({"tags": ["x"] * 101}, "tags"), ({"tags": "x"}, "tags"),
        ({"notes": "x" * 20_001}, "notes"), ({"state": "finished"}, "state"), ({"team": "x"}, "team"),
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_is_refused_with_its_field(cast: Cast, body: Any, field: str) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()

    answer = Script(cast, "admin").send("PATCH", f"/runs/{story.run.pk}", body)

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid"
    assert answer.json()["error"]["field"] == field


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[]", b"1", b'{"name": ' * 10_000, b""])
def test_a_body_that_is_no_object_is_refused(cast: Cast, body: bytes) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()

    answer = Script(cast, "admin").send("PATCH", f"/runs/{story.run.pk}", body)

    assert answer.status_code in (400, 422)
    assert set(answer.json()["error"]) == {"code", "message", "field"}


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/runs", {"limit": 0}, "limit"), ("/runs", {"limit": 1001}, "limit"), ("/runs", {"limit": "many"}, "limit"),
        ("/runs", {"cursor": "nonsense"}, "cursor"), ("/runs", {"cursor": "W10"}, "cursor"),
        ("/runs", {"cursor": "WzEsMl0"}, "cursor"), ("/runs", {"cursor": "bnVsbA"}, "cursor"),
        ("/runs", {"cursor": "W" * 999}, "cursor"), ("/runs", {"cursor": "é\0"}, "cursor"),
        ("/runs", {"from": "yesterday"}, "from"), ("/runs", {"to": "2026-11-29T12:00:00"}, "to"),
        ("/runs", {"project": "a\0b"}, "project"), ("/findings", {"state": "half-open"}, "state"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_is_refused_with_its_field(script: Script, path: str, query: Any, field: str) -> None:
    answer = script._client.get(f"/api/v1{path}", query)

    assert answer.status_code == 422
    assert answer.json()["error"] == {"code": "invalid", "message": answer.json()["error"]["message"], "field": field}


def test_hostile_questions_about_a_run_are_refused(script: Script, cast: Cast) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()

    for path, query in (
        ("phases", {"round": 2**31}), ("phases", {"round": -2}), ("phases", {"worker": "\0"}),
        ("phases", {"name": "\0"}),
        ("phases", {"cursor": "WzEsMiw5OTk5OTk5OTk5OTk5OTk5OTk5OTk5XQ"}), ("samples", {"metric": "\0"}),
        ("rounds", {"cursor": "W3RydWUsMV0"}), ("workers", {"cursor": "WzEsMl0"}), ("rounds/0", {"generation": -1}),
    ):  # fmt: skip
        answer = script._client.get(f"/api/v1/runs/{story.run.pk}/{path}", query)
        assert answer.status_code == 422, (path, query)
        assert answer.json()["error"]["code"] == "invalid"


def test_a_deleted_run_is_gone_and_its_agents_are_told(cast: Cast, story: Story) -> None:
    admin, run, other = Script(cast, "read", "admin"), story.run, Story(cast.team, scenarios.healthy(2, 1), key="other")
    other.tell()
    store(cast.team, [story.recorders["rank-1"].sample("loss", 1.0, story.begin_ns).event("e", story.begin_ns).batch()])
    late = story.recorders["rank-0"].event("late", story.begin_ns).batch()
    series = list(Series.objects.filter(stream__run=run).values_list("pk", flat=True))

    assert admin.send("DELETE", f"/runs/{run.pk}").status_code == 204

    for path in ("", "/workers", "/rounds", "/phases", "/samples", "/findings"):
        assert admin.send("GET", f"/runs/{run.pk}{path}").status_code == 404
    assert [one["key"] for one in admin.items("/runs")] == ["other"]
    assert len(admin.items(f"/runs/{other.run.pk}/phases")) == 2 * 4 + 1
    assert len(series) == 1
    assert not Sample.objects.filter(series_id__in=series).exists()
    assert not Phase.objects.filter(run_id=run.pk).exists()
    assert not Event.objects.filter(run_id=run.pk).exists()
    assert WorkerRound.objects.count() == other.run.workers.count()
    assert Stream.objects.filter(deleted=True, run=None, worker=None).count() == len(story.recorders)
    assert [result.status for result in store(cast.team, [late])] == ["deleted"]
    assert admin.send("DELETE", f"/runs/{run.pk}").status_code == 404


def test_a_deletion_that_was_interrupted_goes_on(cast: Cast, story: Story) -> None:
    admin, run = Script(cast, "read", "admin"), story.run

    assert deletion.advance(run.pk, within_s=-1.0) is False
    assert deletion.unfinished() == []
    Stream.objects.filter(run=run).update(deleted=True)
    assert deletion.unfinished() == [run.pk]
    assert admin.send("GET", f"/runs/{run.pk}").status_code == 200

    delete_run(str(run.pk))

    assert deletion.unfinished() == []
    assert admin.send("GET", f"/runs/{run.pk}").status_code == 404


def test_the_openapi_document_names_every_path(client: Client) -> None:
    document = client.get("/api/v1/openapi.json").json()

    assert set(document["paths"]) == {
        f"/api/v1{path}"
        for path in (
            "/runs", "/runs/{run_id}", "/runs/{run_id}/workers", "/runs/{run_id}/rounds",
            "/runs/{run_id}/rounds/{index}", "/runs/{run_id}/phases", "/runs/{run_id}/samples",
            "/runs/{run_id}/findings", "/runs/{run_id}/intervals", "/runs/{run_id}/intervals/{interval_id}",
            "/runs/{run_id}/conditions", "/findings", "/alerts", "/alerts/{alert_id}", "/runs/{run_id}/exports",
            "/runs/{run_id}/thresholds", "/thresholds",
            "/runs/{run_id}/exports/{export_id}", "/runs/{run_id}/exports/{export_id}/file", "/runs/{run_id}/trace",
        )
    }  # fmt: skip
    assert document["openapi"].startswith("3.1")
    parameters = {one["name"] for one in document["paths"]["/api/v1/runs/{run_id}/phases"]["get"]["parameters"]}
    assert parameters == {"run_id", "limit", "cursor", "from", "to", "round", "worker", "name"}
    assert set(document["components"]["securitySchemes"]) == {"Token", "Session"}


def test_the_docs_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(client: Client) -> None:
    page = client.get("/api/v1/docs")

    assert page.status_code == 200
    text = page.content.decode()
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    assert all('type="application/json"' in tag or "src=" in tag for tag in text.split("<script")[1:])
    assert "<style" not in text


def test_a_signed_in_browser_reads_what_its_team_may(cast: Cast, story: Story) -> None:
    assert browser_of(cast.viewer).get("/api/v1/runs").json()["items"][0]["id"] == str(story.run.pk)
    assert browser_of(cast.stranger).get("/api/v1/runs").json()["items"] == []
