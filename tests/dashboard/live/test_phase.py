"""What a bar opens: everything known of its phase, closed or open, beside its peers."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from ingest.models import Finding
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.live.stage import SECOND, Stage


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def stage(people: Cast) -> Stage:
    stage = Stage(people.team)
    for rank in range(4):
        stage.worker(f"trainer-{rank}")
    return stage


@pytest.fixture
def browser(people: Cast) -> Client:
    return browser_of(people.viewer)


def asked(browser: Client, stage: Stage, attempt: int, start: int, status: int = 200) -> Any:
    answer = browser.get(f"/runs/{stage.run.pk}/live/phase?attempt={attempt}&start={start}", secure=False)
    assert answer.status_code == status, answer.content
    return answer.json()


def encode(stage: Stage, rank: int, seconds: float) -> int:
    spans = stage.spans(stage.parts[rank], 1, name="encode", round=2)
    spans.end_ns[:] = spans.begin_ns + int(seconds * SECOND)
    stage.store(stage.parts[rank], spans)
    return int(spans.start_number[0])


def test_a_closed_phase_tells_its_times_attributes_and_peers(browser: Client, stage: Stage) -> None:
    starts = [encode(stage, rank, seconds) for rank, seconds in enumerate((2.0, 1.5, 17.8, 2.5))]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingest_phase SET attrs = %s, error_ns = 2000000 WHERE stream_id = %s",
            [json.dumps({"nbytes": 1 << 40, "note": "<b>"}), stage.parts[2].stream.pk],
        )
    said = asked(browser, stage, 2, starts[2])
    assert (said["name"], said["kind"], said["state"], said["round"]) == ("encode", "encode", "ok", 2)
    assert (said["worker"], said["lane"], said["machine"]) == ("trainer-2", 2, "machine-1")
    assert said["attrs"] == {"nbytes": 1 << 40, "note": "<b>"}
    assert said["seconds"] == 17.8
    assert int(said["end_ns"]) - int(said["begin_ns"]) == 17_800_000_000
    assert said["clock_error_s"] == 0.002
    assert said["peers"] == {
        "count": 3, "own_s": 17.8, "fastest_s": 1.5, "median_s": 2.0, "slowest_s": 2.5, "ratio": 8.9,
    }  # fmt: skip


def test_an_open_phase_has_no_end(browser: Client, stage: Stage) -> None:
    start = stage.opened(stage.parts[0], "upload", round=1)
    said = asked(browser, stage, 0, start)
    assert (said["name"], said["state"], said["end_ns"], said["seconds"]) == ("upload", "open", None, None)
    assert said["clock_error_s"] is None
    assert said["peers"] is None


def test_a_phase_names_the_one_around_it_and_the_findings_on_it(browser: Client, stage: Stage) -> None:
    outer = encode(stage, 0, 5)
    inner = encode(stage, 0, 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_phase SET parent = %s WHERE start_number = %s", [outer, inner])
    now = timezone.now()
    for fingerprint, spans in (("a", [[0, inner, 0, 2]]), ("b", [[1, inner, 0, 2], [0, outer, 0, 2]])):
        Finding.objects.create(
            run=stage.run, kind="straggler", fingerprint=fingerprint, observed="slow", opened_at=now, updated_at=now,
            spans=spans,
        )  # fmt: skip
    said = asked(browser, stage, 0, inner)
    assert (said["parent"], said["parent_name"]) == (outer, "encode")
    assert [finding["spans"] for finding in said["findings"]] == [[[0, inner, 0, 2]]]


@pytest.mark.parametrize(("attempt", "start"), [(0, 99), (9, 0)])
def test_a_phase_that_is_not_there_is_not_found(browser: Client, stage: Stage, attempt: int, start: int) -> None:
    assert asked(browser, stage, attempt, start, status=404)["error"]["code"] == "not_found"


def test_the_query_must_name_a_phase(browser: Client, stage: Stage) -> None:
    answer = browser.get(f"/runs/{stage.run.pk}/live/phase?attempt=0")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "start")
