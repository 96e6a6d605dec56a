"""The overview of a run: figures with their denominators, what was found when, who ran, and how it was set."""

import datetime as dt
import re
import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.runs.conditions import configured
from dashboard.runs.overview import grouped
from ingest.models import Analysis, Round, Run, Sample, Series, Stream, Worker
from ingest.queries import run_rounds
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import NOON, add_finding, add_round, add_workers, kinds, make_run

pytestmark = pytest.mark.django_db
FIGURE = re.compile(
    r"<summary>([^<]*)</summary>\s*<p[^>]*>([^<]*)</p>\s*</details>\s*</dt>\s*<dd>([^<]*)<small>([^<]*)"
)


def page_of(client: Client, run: Run) -> str:
    answer = client.get(f"/runs/{run.pk}/overview/")
    assert answer.status_code == 200
    return answer.content.decode()


def figures_of(client: Client, run: Run) -> dict[str, tuple[str, str, str]]:
    """By label: value, detail and definition, with plain blanks."""
    page = page_of(client, run).replace("\N{NO-BREAK SPACE}", " ").replace("&#x27;", "'")
    return {label: (value.strip(), detail, definition) for label, definition, value, detail in FIGURE.findall(page)}


def analysed(row: Round, **communication: object) -> None:
    told = {"comm_share": None, "exposed_share": None, "abstained": ""} | communication
    Analysis.objects.create(round=row, version=row.data_version, content={"communication": told})


def test_figures_say_what_they_are_and_of_how_many_rounds(cast: Cast) -> None:
    run = make_run(cast.team, "run6", rounds_planned=20, state="finished", ended_at=NOON + dt.timedelta(minutes=36))
    for index, wall_s in enumerate((500.0, 50.0, 52.0, 61.0)):
        row = add_round(
            run, index, wall_s, coverage=0.9, gpu_waiting_share=0.5 if index > 1 else None, items=100.0,
            kind_seconds=kinds(compute=wall_s / 2, encode=wall_s / 4),
        )  # fmt: skip
        analysed(row, **({"comm_share": 0.4, "exposed_share": 0.1} if index > 1 else {}))
    add_round(run, 4, None)
    told = figures_of(browser_of(cast.viewer), run)
    assert told["Rounds"][:2] == ("4", "of 20")
    assert told["Duration"][:2] == ("36 min 00 s", "")
    assert told["Round time, median"][:2] == ("52.0 s", "3 rounds")
    assert told["Round time, p95"][0] == "60.1 s"
    assert told["GPU waiting"][:2] == ("50 %", "2 rounds")
    assert told["Comm share"][:2] == ("40 %", "2 rounds analysed")
    assert told["Exposed share"][:2] == ("10 %", "2 rounds analysed")
    assert told["Coverage"][:2] == ("90 %", "3 rounds")
    assert told["Throughput"][:2] == ("1.84 /s", "3 rounds")
    assert "no compute phase" in told["GPU waiting"][2]
    assert "median of the 2 rounds of which it is known" in told["GPU waiting"][2]


def test_what_is_not_known_is_a_dash_with_a_reason_and_no_zero(cast: Cast) -> None:
    told = figures_of(browser_of(cast.viewer), make_run(cast.team))
    dashes = [label for label, (value, _, _) in told.items() if value == "–"]
    assert dashes == [
        "Round time, median", "Round time, p95", "GPU waiting", "Comm share", "Exposed share", "Coverage",
        "Throughput", "GPU-hours", "Memory, peak",
    ]  # fmt: skip
    assert told["Memory, peak"][1] == "no readings kept"
    assert told["Round time, median"][1] == "no round has closed yet"


def test_where_nothing_goes_between_machines_the_shares_say_why_they_are_not_known(cast: Cast) -> None:
    run, why = make_run(cast.team), "no two workers are known to be on different machines"
    for index in range(2):
        analysed(add_round(run, index, 50.0), abstained=why)
    told = figures_of(browser_of(cast.viewer), run)
    assert told["Comm share"][:2] == told["Exposed share"][:2] == ("–", why)


def test_of_a_replayed_round_the_newest_generation_counts(cast: Cast) -> None:
    run = make_run(cast.team)
    add_round(run, 0, 10.0)
    add_round(run, 1, 99.0)
    add_round(run, 1, 12.0, generation=1)
    add_round(run, 2, 77.0)
    add_round(run, 2, None, generation=1)
    found = run_rounds.newest(run)
    assert (found.index.tolist(), found.wall_s.tolist(), found.cut) == ([0, 1], [10.0, 12.0], False)
    assert figures_of(browser_of(cast.viewer), run)["Rounds"][0] == "2"


def test_a_long_run_is_told_by_its_newest_rounds_and_says_so(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rounds, "MOST_ROUNDS", 3)
    run = make_run(cast.team)
    for index in range(9):
        add_round(run, index, float(index + 1))
    told = figures_of(browser_of(cast.viewer), run)
    assert told["Round time, median"][:2] == ("8.00 s", "3 rounds, the newest")
    assert "newest 3 closed rounds" in told["Round time, median"][2]
    assert told["Rounds"][0] == "9"


def test_of_rounds_replayed_often_no_more_rows_are_walked(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rounds, "MOST_ROUNDS", 6)
    run = make_run(cast.team)
    for index in range(4):
        for generation in range(3):
            add_round(run, index, 10.0 * index + generation, generation=generation)
    found = run_rounds.newest(run)
    assert (found.index.tolist(), found.wall_s.tolist(), found.cut) == ([2, 3], [22.0, 32.0], True)


def test_gpu_hours_are_those_of_the_list(cast: Cast) -> None:
    run = make_run(cast.team, trainers=2, devices=["NVIDIA A40"], ended_at=NOON + dt.timedelta(hours=2.1))
    client = browser_of(cast.viewer)
    assert figures_of(client, run)["GPU-hours"][:2] == ("4.2 h", "2 trainers")
    assert '<td data-label="GPU-hours" class="number">4.2</td>' in client.get("/").content.decode()


def read(run: Run, role: str, *nbytes: float, minutes: float = 0) -> None:
    """Readings of a process's memory, one each second from so many minutes after noon."""
    worker = Worker.objects.create(run=run, index=run.workers.count(), name=role, role=role, last_seen=NOON)
    stream = Stream.objects.create(
        team=run.team, uid=uuid.uuid4(), worker=worker, run=run, index=worker.index, began_at=NOON, heard_at=NOON
    )
    series = Series.objects.create(stream=stream, metric="process_memory_bytes")
    begin_ns = int((NOON + dt.timedelta(minutes=minutes)).timestamp()) * 10**9
    for number, value in enumerate(nbytes):
        Sample.objects.create(
            arrived=run.last_day, stream_id=stream.pk, number=number, series_id=series.pk, round=-1,
            time_ns=begin_ns + number * 10**9, value=value,
        )  # fmt: skip


def test_memory_is_that_of_the_coordinator_in_model_copies_else_of_trainers(cast: Cast) -> None:
    today = timezone.now().date()
    ended = {"state": "finished", "ended_at": NOON + dt.timedelta(hours=1), "first_day": today, "last_day": today}
    run, plain = make_run(cast.team, model_bytes=1 << 30, **ended), make_run(cast.team, **ended)
    read(run, "trainer", 40.0 * (1 << 30))
    read(run, "coordinator", 2.0 * (1 << 30), 14.8 * (1 << 30), 3.0 * (1 << 30))
    read(plain, "trainer", 5.0 * (1 << 30))
    client = browser_of(cast.viewer)
    assert figures_of(client, run)["Coordinator memory, peak"][:2] == ("≥ 14.8 copies", "14.8 GiB")
    told = figures_of(client, plain)["Trainer memory, peak"]
    assert told[0] == "≥ 5.0 GiB"
    assert "over the last 1 h 00 min" in told[2]


def test_a_finding_leads_to_the_phase_that_it_marks(cast: Cast) -> None:
    run = make_run(cast.team)
    rows = [add_round(run, index, 10.0) for index in range(3)]
    found = add_finding(run, [1])
    found.spans = [[4, 77, 0, 1]]
    found.hypothesis = "<b>few threads</b>"
    found.save()
    page = page_of(browser_of(cast.viewer), run)
    begin, end = rows[1].begin_ns - 800_000_000, (rows[1].end_ns or 0) + 800_000_000
    assert f'href="/runs/{run.pk}/?from={begin}&amp;to={end}&amp;round=1&amp;sel=4.77"' in page
    assert "&lt;b&gt;few threads" in page
    assert '<rect class="found"' in page
    assert page.count("<title>round ") == 3


def test_workers_stand_with_their_machine_and_a_large_crew_is_cut(cast: Cast) -> None:
    run = make_run(cast.team)
    add_workers(run, ["m-1"] * 130 + ["m-2"])
    words = " ".join(re.sub(r"<[^>]+>", " ", page_of(browser_of(cast.viewer), run)).split())
    assert "131 workers" in words
    assert "node0 130 workers" in words
    assert "host-63" in words
    assert "host-64" not in words
    assert "and 66 more" in words


def test_settings_stand_in_groups_of_their_first_name(cast: Cast) -> None:
    config = {"lr": 3e-4, "optimizer": {"name": "<i>adamw</i>", "betas": [0.9, 0.95]}}
    groups = grouped(configured(config))
    assert [(group.name, [row.label for row in group.rows]) for group in groups] == [
        ("", ["lr"]), ("optimizer", ["betas", "name"]),
    ]  # fmt: skip
    page = page_of(browser_of(cast.viewer), make_run(cast.team, config=config))
    assert "&lt;i&gt;adamw" in page
    assert "<i>adamw" not in page


def test_a_viewer_reads_and_a_stranger_learns_nothing(cast: Cast) -> None:
    run = make_run(cast.team)
    for person in (cast.owner, cast.member, cast.viewer):
        assert browser_of(person).get(f"/runs/{run.pk}/overview/").status_code == 200
    assert browser_of(cast.stranger).get(f"/runs/{run.pk}/overview/").status_code == 404
    assert browser_of(cast.viewer).put(f"/runs/{run.pk}/overview/").status_code == 405


def queries_of(client: Client, run: Run) -> int:
    with CaptureQueriesContext(connection) as queries:
        page_of(client, run)
    return len(queries)


def test_a_large_run_costs_no_more_queries_than_a_small_one(cast: Cast) -> None:
    client = browser_of(cast.owner)
    today = timezone.now().date()
    small, large = (make_run(cast.team, name, first_day=today, last_day=today) for name in ("small", "large"))
    for run, count in ((small, 1), (large, 30)):
        add_workers(run, [f"m-{number}" for number in range(count)])
        read(run, "coordinator", 1.0)
        for index in range(count):
            analysed(add_round(run, index, 10.0, kind_seconds=kinds(compute=5.0)), comm_share=0.1, exposed_share=0.1)
            add_finding(run, [index])
    assert queries_of(client, large) == queries_of(client, small) <= 18


def test_a_finding_leads_to_an_investigation_of_those_who_may_begin_one(cast: Cast) -> None:
    run = make_run(cast.team, "run6")
    way = f"/investigations/new/?finding={add_finding(run, [4]).pk}"
    assert f'href="{way}"' in page_of(browser_of(cast.member), run)
    assert way not in page_of(browser_of(cast.viewer), run)


def test_the_teams_menu_leads_to_its_data(cast: Cast) -> None:
    page = page_of(browser_of(cast.viewer), make_run(cast.team, "run6"))
    menu = page.split("Team: Vision team")[1].split("</details>")[0]
    assert 'href="/data/"' in menu
    assert page.count('href="/data/"') == 1
