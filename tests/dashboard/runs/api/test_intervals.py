"""Intervals over REST: defined by who may change, told in the rounds that they are measured in."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from dashboard.teams import tokens
from ingest.models import Interval, Run
from ingest.store import deletion
from ingest.store import intervals as store
from ingest.tasks import judge_intervals, judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.playing import eventually
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db
APPLIED: dict[str, Any] = {
    "name": "to applied", "begin": {"which": "last", "of": "end", "name": "aggregate"},
    "end": {"which": "last", "of": "end", "name": "apply"}, "most_s": 5.0, "scope": "run",
}  # fmt: skip


@pytest.fixture
def run(cast: Cast) -> Run:
    story = Story(cast.team, scenarios.exchange("exchange", scenarios.crew(2), rounds=2, train=30.0, encode=2.0))
    story.tell()
    for index in range(2):
        judge_round(str(story.run.pk), index, 0)
    return story.run


def asked(cast: Cast, scope: str, method: str, path: str, body: Any = None, *, foreign: bool = False) -> Any:
    token = tokens.issue(cast.other_team if foreign else cast.team, "script", [scope])
    client = Client(headers={"authorization": f"Bearer {token}"})
    return client.generic(method, f"/api/v1{path}", json.dumps(body) if body else "", "application/json")


def test_it_is_defined_told_of_rounds_changed_and_forgotten(cast: Cast, run: Run) -> None:
    path = f"/runs/{run.pk}/intervals"
    made = asked(cast, "admin", "POST", path, APPLIED)
    assert made.status_code == 201, made.content
    key = made.json()["id"]
    assert asked(cast, "read", "GET", path).json() == {"items": [APPLIED | {"id": key}], "next": None}

    assert asked(cast, "read", "GET", f"{path}/{key}").json() == APPLIED | {"id": key}

    # The rounds say nothing of what they were not measured for, and everything else.
    row = asked(cast, "read", "GET", f"/runs/{run.pk}/rounds").json()["items"][1]
    assert row["intervals"] is None
    assert row["critical_path"]
    judge_intervals(str(run.pk))
    for round_ in (
        asked(cast, "read", "GET", f"/runs/{run.pk}/rounds").json()["items"][1],
        asked(cast, "read", "GET", f"/runs/{run.pk}/rounds/1").json(),
    ):
        (one,) = [one for one in round_["intervals"] if one["name"] == "to applied"]
        assert (one["check"], one["passed"], one["between"]) == (
            "<= 5 s",
            False,
            "last end of aggregate to last end of apply",
        )
        assert one["seconds"] == pytest.approx(13.0, abs=0.1)
        assert sum(part["seconds"] for part in one["parts"]) == pytest.approx(one["seconds"], abs=1e-5)

    changed = asked(cast, "admin", "PUT", f"{path}/{key}", APPLIED | {"most_s": 60})
    assert changed.json()["most_s"] == 60.0
    # Who asks for one round has it measured at once.
    (one,) = [
        one
        for one in asked(cast, "read", "GET", f"/runs/{run.pk}/rounds/1").json()["intervals"]
        if one["name"] == "to applied"
    ]
    assert one["passed"] is True
    assert asked(cast, "admin", "DELETE", f"{path}/{key}").status_code == 204
    assert asked(cast, "read", "GET", path).json()["items"] == []


def test_who_may_only_read_changes_nothing_and_who_is_of_another_team_sees_nothing(cast: Cast, run: Run) -> None:
    path = f"/runs/{run.pk}/intervals"
    key = asked(cast, "admin", "POST", path, APPLIED).json()["id"]
    for method, at, body in (
        ("POST", path, APPLIED),
        ("PUT", f"{path}/{key}", APPLIED),
        ("DELETE", f"{path}/{key}", None),
    ):
        assert asked(cast, "read", method, at, body).status_code == 403
        assert asked(cast, "admin", method, at, body, foreign=True).status_code == 404
    for at in (path, f"{path}/{key}"):
        assert asked(cast, "read", "GET", at, foreign=True).status_code == 404
    for number in (key + 1, 1 << 63, 1 << 70):
        assert asked(cast, "admin", "PUT", f"{path}/{number}", APPLIED).status_code == 404
    assert Interval.objects.get().most_s == 5.0


def test_what_cannot_be_measured_is_refused_with_its_field(cast: Cast, run: Run) -> None:
    path = f"/runs/{run.pk}/intervals"
    asked(cast, "admin", "POST", path, APPLIED)
    for body, field in (
        (APPLIED, "name"), (APPLIED | {"name": "x", "end": APPLIED["begin"]}, "end.name"),
        (APPLIED | {"name": "a\u202eb"}, "name"), (APPLIED | {"end": APPLIED["end"] | {"of": "middle"}}, "end.of"),
        (APPLIED | {"begin": APPLIED["begin"] | {"name": ""}}, "begin.name"), (APPLIED | {"end": 5}, "end"),
        (APPLIED | {"begin": {}}, "begin.which"),
        (APPLIED | {"name": "x", "most_s": -1}, "most_s"), (APPLIED | {"name": "x", "scope": "team"}, "scope"),
    ):  # fmt: skip
        answer = asked(cast, "admin", "POST", path, body)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert Interval.objects.count() == 1


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('advisory', 'transactionid')")
        return bool(cursor.fetchone()[0])


@contextmanager
def meanwhile(cast: Cast, *ask: Any) -> Iterator[list[Any]]:
    """What a script is answered that asks while somebody else is changing intervals, and has been quicker."""
    answers: list[Any] = []

    def answer() -> None:
        try:
            answers.append(asked(cast, "admin", *ask))
        finally:
            connection.close()

    thread = Thread(target=answer)
    with transaction.atomic():
        yield answers
        thread.start()
        eventually(waits_for_a_lock)
    thread.join(20)


def defined(run: Run, name: str) -> Interval:
    row = Interval(
        team_id=run.team_id, project=run.project, run=run, name=name, begin_name="aggregate", end_name="apply"
    )
    store.save(row, run)
    return row


@pytest.mark.parametrize(("method", "body"), [("PUT", APPLIED), ("DELETE", None)])
def test_what_somebody_deletes_meanwhile_is_not_there_to_be_changed(
    cast: Cast, quiet: None, run: Run, method: str, body: Any
) -> None:
    row = defined(run, "x")
    with meanwhile(cast, method, f"/runs/{run.pk}/intervals/{row.pk}", body) as answers:
        store.remove(row, run)
    assert [answer.status_code for answer in answers] == [404]
    assert not Interval.objects.exists()


def test_who_asks_at_once_with_others_defines_no_more_than_are_measured(cast: Cast, quiet: None, run: Run) -> None:
    for number in range(store.MOST - 1):
        defined(run, f"i{number}")
    with meanwhile(cast, "POST", f"/runs/{run.pk}/intervals", APPLIED) as answers:
        defined(run, "the last")
    assert [answer.status_code for answer in answers] == [422]
    assert "more are not measured" in answers[0].json()["error"]["message"]
    assert Interval.objects.count() == store.MOST


def test_two_that_are_renamed_to_one_name_at_once_do_not_both_have_it(cast: Cast, quiet: None, run: Run) -> None:
    first, other = defined(run, "a"), defined(run, "b")
    with meanwhile(cast, "PUT", f"/runs/{run.pk}/intervals/{other.pk}", APPLIED) as answers:
        first.name = APPLIED["name"]
        store.save(first, run)
    assert [(answer.status_code, answer.json()["error"]["field"]) for answer in answers] == [(422, "name")]
    assert set(Interval.objects.values_list("name", flat=True)) == {"b", APPLIED["name"]}


@pytest.mark.parametrize("scope", ["run", "project"])
def test_of_a_run_that_is_deleted_meanwhile_nothing_is_defined(cast: Cast, quiet: None, run: Run, scope: str) -> None:
    with meanwhile(cast, "POST", f"/runs/{run.pk}/intervals", APPLIED | {"scope": scope}) as answers:
        assert deletion.begin(run.pk)
    assert [answer.status_code for answer in answers] == [404]
    assert not Interval.objects.exists()
