"""A figure of a run is the same number in the list, on its overview, beside other runs and in trends."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from ingest.models import Analysis, Run, RunFigures, Standing
from ingest.store import run_figures, standings
from ingest.tasks import sum_up_run
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_round, make_run, settle

pytestmark = pytest.mark.django_db
ROUNDS = 61
OVERVIEW = re.compile(r"<summary>([^<]*)</summary>\s*<p[^>]*>[^<]*</p>\s*</details>\s*</dt>\s*<dd>([^<]*)<small>")


def long_run(cast: Cast) -> Run:
    """A round of warm-up, and then so many that the newest forty would say otherwise than all; means tell otherwise.

    One of its rounds is replayed, and that goes on.
    """
    run = make_run(cast.team, "long", state="finished")
    for index in range(ROUNDS):
        wall_s = 100.0 if index == 0 else 10.0 if index < 35 else 20.0
        share = 0.9 if index == 0 else 0.2 if index < 35 else 0.8
        row = add_round(run, index, wall_s, gpu_waiting_share=share, coverage=share)
        told = {"comm_share": share / 2, "exposed_share": share / 4, "abstained": ""}
        Analysis.objects.create(round=row, version=row.data_version, content={"communication": told, "intervals": []})
    add_round(run, 50, None, generation=1)
    return run


def steps(cast: Cast) -> Run:
    """Steps of which the first twenty are over before its first ten seconds are: both have to pass."""
    run = make_run(cast.team, "steps", state="finished")
    for index in range(ROUNDS):
        row = add_round(run, index, 0.5 if index < 40 else 0.2 if index < 55 else 0.1, gpu_waiting_share=index / 100)
        row.begin_ns = int(run.started_at.timestamp()) * 10**9 + index * 10**9 // 4
        row.end_ns = row.begin_ns + (500_000_000 if index < 40 else 200_000_000 if index < 55 else 100_000_000)
        row.save()
    return run


def plain(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().replace("\N{NO-BREAK SPACE}", " ").split())


def listed(client: Client) -> dict[str, str]:
    told = plain(client, "/")
    return {label: cell_of(told, label) for label in ("Round time", "GPU waiting")}


def cell_of(told: str, label: str) -> str:
    found = re.search(rf'data-label="{label}" class="number[^"]*">([^<]*)<', told)
    assert found, label
    return found[1]


def on_the_overview(client: Client, run: Run) -> dict[str, str]:
    told = plain(client, f"/runs/{run.pk}/overview/")
    found = {label.removesuffix(", median"): value.strip() for label, value in OVERVIEW.findall(told)}
    assert {"Round time", "GPU waiting", "Comm share"} <= set(found)
    return found


def compared(client: Client, run: Run) -> dict[str, str]:
    other = make_run(run.team, "other", project="other", age_m=60)
    add_round(other, 0, 7.0)
    told = (
        plain(client, f"/compare/?run={run.pk}&run={other.pk}")
        .split('aria-label="Key figures by run"')[1]
        .split("</table>")[0]
    )
    found = re.findall(r'<summary><bdi>([^<]*)</bdi>.*?<td class="number">([^<]*)', told)
    return {label: value.split(" [")[0].strip() for label, value in found}


def in_trends(client: Client) -> dict[str, str]:
    found = re.findall(r'<td class="number" data-label="([^"]*)">([^<]*)', plain(client, "/trends/"))
    return {("Comm share" if label == "Exchange between nodes" else label): value.strip() for label, value in found}


@pytest.mark.parametrize(
    ("told", "round_time", "waiting", "comm"),
    [(long_run, "10.0 s", "20 %", "10 %"), (steps, "0.20 s", "50 %", "–")], ids=["rounds", "steps"],
)  # fmt: skip
def test_figures_are_the_same_on_every_page(
    cast: Cast, told: Callable[[Cast], Run], round_time: str, waiting: str, comm: str
) -> None:
    run = told(cast)
    run_figures.ask(run.pk)
    RunFigures.objects.update(due_at=timezone.now())
    sum_up_run(str(run.pk))
    settle()
    client = browser_of(cast.viewer)
    pages = {
        "list": listed(client), "overview": on_the_overview(client, run), "compare": compared(client, run),
        "trends": in_trends(client),
    }  # fmt: skip
    assert {page: found["Round time"] for page, found in pages.items()} == dict.fromkeys(pages, round_time)
    assert {page: found["GPU waiting"] for page, found in pages.items()} == dict.fromkeys(pages, waiting)
    del pages["list"]
    assert {page: found["Comm share"] for page, found in pages.items()} == dict.fromkeys(pages, comm)
    del pages["trends"]
    assert pages["overview"]["Coverage"] == pages["compare"]["Coverage"]


def test_figures_reach_the_list_as_soon_as_they_are_summed_up(cast: Cast) -> None:
    run = long_run(cast)
    settle()
    run_figures.ask(run.pk)
    RunFigures.objects.update(due_at=timezone.now())
    sum_up_run(str(run.pk))
    assert standings.bring_up() == 1
    assert Standing.objects.get(run=run).round_s == RunFigures.objects.get(run=run).round_s == 10.0
