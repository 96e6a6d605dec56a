"""The metrics of a run: what is offered, what a chart is made of, and how little of very much is sent."""

from typing import Any

import pytest
from django.test import Client

from dashboard.runs import metrics as pages
from ingest.models import Run
from ingest.queries import metrics as queries
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import make_run
from tests.ingest.batches import SECOND, Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN_NS = 1_790_000_000 * 10**9
HOSTILE = "</script><img src=x onerror=alert(1)>"


def told(cast: Cast, name: str, losses: list[float | str], *, attempt: int = 0, metric: str = "loss") -> None:
    """A worker that logs a loss each ten seconds, a round each."""
    begin = BEGIN_NS + attempt * 1000 * SECOND
    recorder = Recorder(name, began_ns=begin, machine=f"machine of {name}").begin()
    for index, loss in enumerate(losses):
        at = begin + index * 10 * SECOND
        recorder.begin_round(index, at).sample(metric, loss, at + SECOND, round=index, source="training")
        recorder.end_round(index, at + 9 * SECOND)
    recorder.sample("process_memory_bytes", 2.0**30, begin + SECOND, unit="bytes")
    deliver(cast.team.id, recorder.batch())


def asked(client: Client, run: Run, **query: Any) -> Any:
    answer = client.get(f"/runs/{run.pk}/metrics/figures", query)
    assert answer.status_code == 200
    return answer.json()


def test_a_line_is_what_a_worker_logged_over_all_its_attempts(cast: Cast) -> None:
    told(cast, "rank-0", [3.0, 2.0, "nan"])
    told(cast, "rank-0", [1.0], attempt=1)
    told(cast, "rank-1", [4.0])
    said = asked(browser_of(cast.viewer), cast.team.runs.get(), metric="loss")
    first, second = said["lines"]
    assert (first["worker"], first["value"], first["round"]) == ("rank-0", [3.0, 2.0, None, 1.0], [0, 1, 2, 0])
    assert [time - first["t"][0] for time in first["t"]] == [0.0, 10.0, 20.0, 1000.0]
    assert (first["readings"], first["not_finite"], first["low"], first["high"]) == (4, 1, 1.0, 3.0)
    assert (first["last"], first["mean"]) == (1.0, pytest.approx(2.0))
    assert (second["worker"], said["more"], said["cut"]) == ("rank-1", 0, False)


def test_workers_can_be_chosen_and_an_unknown_metric_has_no_lines(cast: Cast) -> None:
    told(cast, "rank-0", [3.0])
    told(cast, "rank-1", [4.0])
    client, run = browser_of(cast.viewer), cast.team.runs.get()
    assert [line["worker"] for line in asked(client, run, metric="loss", worker="rank-1")["lines"]] == ["rank-1"]
    assert asked(client, run, metric="nothing\0")["lines"] == []
    assert asked(client, run)["lines"] == []


def test_many_readings_are_thinned_and_many_lines_are_left_out_and_that_is_said(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(cast, "rank-0", [float(index == 37) for index in range(90)])
    told(cast, "rank-1", [4.0])
    client, run = browser_of(cast.viewer), cast.team.runs.get()
    monkeypatch.setattr(pages, "MOST_POINTS", 12)
    line = asked(client, run, metric="loss")["lines"][0]
    assert len(line["value"]) <= 12
    assert (line["readings"], max(line["value"])) == (90, 1.0)
    monkeypatch.setattr(queries, "MOST_LINES", 1)
    monkeypatch.setattr(queries, "MOST_READINGS", 20)
    said = asked(client, run, metric="loss")
    assert (said["more"], said["cut"], said["lines"][0]["readings"]) == (1, True, 20)
    assert said["lines"][0]["round"][-1] == 89


def test_what_the_training_logs_is_shown_first_and_the_url_says_what_is_shown(cast: Cast) -> None:
    told(cast, "rank-0", [3.0], metric=HOSTILE)
    told(cast, HOSTILE, [3.0], metric="loss")
    client, run = browser_of(cast.viewer), cast.team.runs.get()
    page = client.get(f"/runs/{run.pk}/metrics/").content.decode()
    assert HOSTILE not in page
    assert 'data-metric="loss"' in page
    assert 'data-metric="process_memory_bytes"' not in page
    chosen = client.get(f"/runs/{run.pk}/metrics/?metric=process_memory_bytes&worker=rank-0&x=round").content.decode()
    assert 'data-metric="process_memory_bytes"' in chosen
    assert 'data-metric="loss"' not in chosen
    assert 'data-x="round"' in chosen
    assert 'name="worker" value="rank-0" checked' in chosen


def test_a_run_without_numbers_shows_how_to_log_them_and_a_stranger_learns_nothing(cast: Cast) -> None:
    run = make_run(cast.team)
    assert b"run.log(" in browser_of(cast.viewer).get(f"/runs/{run.pk}/metrics/").content
    for path in ("", "figures?metric=loss"):
        assert browser_of(cast.stranger).get(f"/runs/{run.pk}/metrics/{path}").status_code == 404
