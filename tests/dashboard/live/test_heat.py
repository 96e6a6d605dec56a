"""The heat map's figures: sums by worker and round, of the newest generation, bounded, and only for the team."""

import datetime as dt
from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from ingest.models import Finding, Round, Run
from ingest.models.findings import Severity
from ingest.queries import heat as queries
from ingest.store.rounds import close_ended
from roundwatch import wire
from tests.cast import Cast, browser_of
from tests.ingest.batches import SECOND, Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN_NS = 1_790_000_000 * 10**9
HOSTILE = "</script><img src=x onerror=alert(1)>"


def told(cast: Cast, name: str, encodes: list[list[float]], *, attempt: int = 0, first: int = 0) -> None:
    """A worker that encodes these times (seconds) in each round; a round lasts 60 s."""
    recorder = Recorder(name, began_ns=BEGIN_NS + attempt * 1000 * SECOND).begin()
    for index, times in enumerate(encodes, first):
        at = BEGIN_NS + (attempt * 1000 + index * 60) * SECOND
        recorder.begin_round(index, at).phase("train", at, at + 30 * SECOND, round=index)
        at += 30 * SECOND
        for seconds in times:
            recorder.phase("encode", at, at + int(seconds * SECOND), round=index)
            at += int(seconds * SECOND)
        recorder.end_round(index, BEGIN_NS + (attempt * 1000 + index * 60 + 59) * SECOND)
    deliver(cast.team.id, recorder.batch())


def run_of(cast: Cast) -> Run:
    run = cast.team.runs.get()
    close_ended(run.pk)
    Round.objects.update(closed=True)
    return run


def asked(client: Client, run: Run, query: str = "", status: int = 200) -> Any:
    answer = client.get(f"/runs/{run.pk}/live/heat{query}")
    assert answer.status_code == status, answer.content
    said = answer.json()
    if status == 200:
        shape = (len(said["workers"]), len(said["rounds"]))
        said["seconds"] = np.frombuffer(b64decode(said["seconds"]), "<f4").reshape(shape).tolist()
    return said


def test_a_cell_is_the_sum_of_a_workers_phases_in_a_round_and_nothing_where_it_has_none(cast: Cast) -> None:
    told(cast, "host-0", [[1.5], [2.0, 0.5], []])
    told(cast, "host-1", [[2.5], [18.0], [1.0]])
    told(cast, "idle", [[], [], []])
    run = run_of(cast)

    said = asked(browser_of(cast.viewer), run, "?phase=encode")

    assert (said["workers"], said["rounds"], said["phase"]) == (["host-0", "host-1"], [0, 1, 2], "encode")
    assert said["seconds"][1] == [2.5, 18.0, 1.0]
    assert said["seconds"][0][:2] == [1.5, 2.5]
    assert np.isnan(said["seconds"][0][2])
    assert (said["earlier"], said["later"]) == (False, False)


def test_what_most_look_for_comes_first_and_an_unknown_phase_is_empty(cast: Cast) -> None:
    told(cast, "host-0", [[1.5]])
    run = run_of(cast)
    client = browser_of(cast.viewer)
    assert asked(client, run)["phase"] == "encode"
    nothing = asked(client, run, "?phase=nothing%00")
    assert (nothing["workers"], nothing["seconds"], nothing["rounds"]) == ([], [], [0])
    assert asked(client, run, "?phase=train")["seconds"] == [[30.0]]
    page = client.get(f"/runs/{run.pk}/heat/?phase={HOSTILE}").content.decode()
    assert HOSTILE not in page
    assert "&lt;/script&gt;" in page


def test_every_phase_of_a_round_can_be_chosen_however_many_there_are(cast: Cast) -> None:
    names = [f"layer-{number}" for number in range(wire.MAX_PHASE_NAMES - 2)]
    recorder = Recorder("host-0", began_ns=BEGIN_NS).begin().begin_round(0, BEGIN_NS)
    for number, name in enumerate(names):
        recorder.phase(name, BEGIN_NS + number * SECOND, BEGIN_NS + (number + 1) * SECOND, round=0)
    recorder.end_round(0, BEGIN_NS + len(names) * SECOND)
    deliver(cast.team.id, recorder.batch())
    run = run_of(cast)
    page = browser_of(cast.viewer).get(f"/runs/{run.pk}/heat/").content.decode()
    assert [name for name in names if f'<option value="{name}"' not in page] == []


def found_in(run: Run, phase: str, severity: Severity, age_s: int) -> None:
    at = timezone.now() - dt.timedelta(seconds=age_s)
    Finding.objects.create(
        run=run, kind="straggler", fingerprint=f"{phase}:{severity}", severity=severity, phase=phase, opened_at=at,
        updated_at=at,
    )  # fmt: skip


def test_it_opens_on_what_the_newest_finding_above_info_is_about(cast: Cast) -> None:
    told(cast, "host-0", [[1.5]])
    run = run_of(cast)
    client = browser_of(cast.viewer)
    found_in(run, "train", Severity.WARNING, 20)
    found_in(run, "encode", Severity.CRITICAL, 30)
    found_in(run, "encode", Severity.INFO, 10)
    found_in(run, "", Severity.WARNING, 5)
    found_in(run, "of another name", Severity.WARNING, 1)
    assert asked(client, run)["phase"] == "train"
    assert '<option value="train" selected>' in client.get(f"/runs/{run.pk}/heat/").content.decode()


def test_without_a_finding_it_opens_on_what_gpus_waited_for_longest(cast: Cast) -> None:
    """“apply” takes the worker that nobody waits for longest; “encode” is what the round’s GPUs waited for."""
    recorder = Recorder("host-0", began_ns=BEGIN_NS).begin().begin_round(0, BEGIN_NS)
    at = [BEGIN_NS + second * SECOND for second in range(60)]
    recorder.phase("train", at[0], at[5], round=0).phase("encode", at[5], at[25], round=0)
    recorder.phase("apply", at[25], at[35], round=0, after="encode").end_round(0, at[36])
    deliver(cast.team.id, recorder.batch())
    server = Recorder("server", began_ns=BEGIN_NS, role="coordinator").begin().begin_round(0, BEGIN_NS)
    server.phase("apply", at[0], at[34], round=0).end_round(0, at[36])
    deliver(cast.team.id, server.batch())
    run = run_of(cast)
    client = browser_of(cast.viewer)
    assert asked(client, run)["phase"] == "apply"
    assert client.get(f"/runs/{run.pk}/live/analysis?round=0").json()["state"] == "ready"
    assert asked(client, run)["phase"] == "encode"


def test_of_a_round_that_was_replayed_the_newest_generation_counts(cast: Cast) -> None:
    told(cast, "host-0", [[1.0], [7.0]])
    told(cast, "host-0", [[3.0]], attempt=1, first=1)
    run = run_of(cast)
    assert Round.objects.filter(run=run, index=1).count() == 2
    assert asked(browser_of(cast.viewer), run, "?phase=encode")["seconds"] == [[1.0, 3.0]]


def test_a_map_has_an_end_and_leads_to_earlier_rounds(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    told(cast, "host-0", [[float(index + 1)] for index in range(5)])
    run = run_of(cast)
    client = browser_of(cast.viewer)
    monkeypatch.setattr(queries, "MOST_ROUNDS", 2)
    newest = asked(client, run, "?phase=encode")
    assert (newest["rounds"], newest["earlier"], newest["later"]) == ([3, 4], True, False)
    before = asked(client, run, "?phase=encode&until=2")
    assert (before["rounds"], before["seconds"]) == ([1, 2], [[2.0, 3.0]])
    assert (before["earlier"], before["later"]) == (True, True)
    assert asked(client, run, f"?until={1 << 61}")["rounds"] == [3, 4]
    monkeypatch.setattr(queries, "_MOST_CELLS", 1)
    assert asked(client, run, "?phase=encode")["rounds"] == [4]
    assert asked(client, run, "?until=soon", 422)["error"]["field"] == "until"


def test_an_open_round_and_a_run_without_rounds_have_no_figures(cast: Cast) -> None:
    told(cast, "host-0", [[1.0]])
    run = cast.team.runs.get()
    Round.objects.update(closed=False)
    client = browser_of(cast.viewer)
    assert asked(client, run) == {
        "phase": "", "workers": [], "rounds": [], "seconds": [], "earlier": False, "later": False
    }  # fmt: skip
    assert client.get(f"/runs/{run.pk}/heat/").status_code == 200
    assert browser_of(cast.stranger).get(f"/runs/{run.pk}/live/heat").status_code == 404
