"""The trends: what a project's runs came to, by run or by week, narrowed by the address; nothing of another team."""

import datetime as dt
import json
import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboard.runs.trend_points import MEASURES, monday
from ingest.models import Finding, Run
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import NOON, add_figures, add_finding, make_run

pytestmark = pytest.mark.django_db
GIB = 1 << 30
DAY_M = 24 * 60
MARKUP = "</script><img src=x onerror=alert(1)>"


def page(client: Client, **query: str) -> str:
    answer = client.get("/trends/", query)
    assert answer.status_code == 200
    return answer.content.decode()


def drawn(html: str) -> dict[str, Any]:
    found = re.search(r'<script id="drawn" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found, html
    return dict(json.loads(found[1]))


def names(html: str) -> list[str]:
    return [spot["name"] for spot in drawn(html)["spots"]] if 'id="drawn"' in html else []


def values(html: str, key: str) -> list[list[float | None]]:
    at = [measure.key for measure in MEASURES].index(key)
    return [spot["values"][at] for spot in drawn(html)["spots"]]


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)).split())


def test_each_run_is_a_point_with_its_whisker_and_a_line_of_the_table(cast: Cast) -> None:
    for at, wall_s in enumerate((50.0, 52.0)):
        run = make_run(cast.team, f"run-{at}", age_m=60 * (2 - at), model_bytes=GIB)
        add_figures(
            run, wall_s, waiting_share=0.4, waiting_share_p5=0.3, waiting_share_p95=0.5, comm_share=0.1,
            encode_s_p95=18.0, memory_peak_bytes=14.8 * GIB,
        )  # fmt: skip
    add_finding(run, [1])
    html = page(browser_of(cast.viewer))

    assert names(html) == ["run-0", "run-1"]
    assert drawn(html)["groups"] == ["2 × NVIDIA A40"]
    assert values(html, "round_s") == [pytest.approx([45.0, 50.0, 60.0]), pytest.approx([46.8, 52.0, 62.4])]
    assert values(html, "waiting_share") == [[0.3, 0.4, 0.5]] * 2
    assert values(html, "encode_s") == [[None, 18.0, None]] * 2
    assert values(html, "memory") == values(html, "memory_trainers") == [[None, 14.8, None]] * 2
    assert [one[1] for one in values(html, "findings")] == [0, 1]
    assert drawn(html)["spots"][1]["href"] == f"/runs/{run.pk}/"
    assert "2 runs of vit-pets" in words(html)
    assert "run-1 1 Mar 2026 11:00 2 × NVIDIA A40 52.0 s 46.8 s to 62.4 s 40 % 30 % to 50 % 10 % 18.0 s 14.8" in words(
        html
    ).replace("\N{NO-BREAK SPACE}", " ")


def test_memory_in_bytes_is_said_in_the_unit_that_it_has(cast: Cast) -> None:
    for at, peak in enumerate((0.152 * GIB, 3 * GIB)):
        add_figures(make_run(cast.team, f"run-{at}", age_m=-at), 50.0, memory_peak_bytes=int(peak))
    told = words(page(browser_of(cast.viewer))).replace("\N{NO-BREAK SPACE}", " ")
    assert "Memory peak in bytes" in told
    assert " 156 MiB " in told
    assert " 3.0 GiB " in told


def test_runs_under_other_conditions_are_groups_of_their_own(cast: Cast) -> None:
    for at, more in enumerate(({}, {"device": "Tesla T4"}, {"trainers": 4}, {"devices": 0, "device": ""}, {})):
        add_figures(make_run(cast.team, f"run-{at}", age_m=-at), 50.0, **more)
    found = drawn(page(browser_of(cast.owner)))
    others = sorted(["2 trainers, no device known", "2 × NVIDIA A40, 4 trainers", "2 × Tesla T4"])
    assert found["groups"] == ["2 × NVIDIA A40", *others]
    groups = [found["groups"][spot["group"]] for spot in found["spots"]]
    assert groups[0] == groups[4] == "2 × NVIDIA A40"
    assert len(set(groups)) == 4


def test_findings_that_are_only_worth_knowing_are_not_counted(cast: Cast) -> None:
    run = make_run(cast.team)
    add_figures(run, 50.0)
    add_finding(run, [1])
    add_finding(run, [2])
    Finding.objects.filter(rounds=[2]).update(severity="info")
    assert [one[1] for one in values(page(browser_of(cast.owner)), "findings")] == [1]


def test_what_is_worse_than_usual_is_marked(cast: Cast) -> None:
    for name in ("usual", "worse"):
        run = make_run(cast.team, name, age_m=-len(name))
        add_figures(run, 50.0)
        add_finding(run, [1])
    Finding.objects.filter(run__name="worse").update(kind="regression")
    html = page(browser_of(cast.owner))
    assert {spot["name"]: spot["worse"] for spot in drawn(html)["spots"]} == {"usual": False, "worse": True}
    assert re.search(r"<bdi>worse</bdi></a> <span[^>]*>worse than usual<", html)
    assert html.count("worse than usual<") == 2


def test_the_address_narrows_by_project_tag_device_and_days(cast: Cast) -> None:
    client = browser_of(cast.owner)
    for name, more, figures in (
        ("old", {"age_m": 10 * DAY_M}, {}),
        ("tagged", {"age_m": 5 * DAY_M, "tags": ["base", "x"]}, {}),
        ("t4", {"age_m": 3 * DAY_M}, {"device": "Tesla T4"}),
        ("new", {}, {}),
        ("elsewhere", {"project": "words", "age_m": 1}, {}),
    ):
        add_figures(make_run(cast.team, name, **more), 50.0, **figures)
    make_run(cast.team, "without figures")
    assert names(page(client)) == ["old", "tagged", "t4", "new"]
    assert names(page(client, project="words")) == ["elsewhere"]
    assert names(page(client, tag="base")) == ["tagged"]
    assert names(page(client, device="Tesla T4")) == ["t4"]
    assert names(page(client, begin="2026-02-24", end="2026-02-26")) == ["tagged", "t4"]
    assert names(page(client, begin="2026-02-27")) == ["new"]
    html = page(client, end="2026-02-20")
    assert names(html) == ["old"] or "No run matches" in html
    assert "No run matches" in page(client, end="2026-01-01")


@pytest.mark.parametrize(
    "query",
    [
        {"project": "no such"}, {"tag": "no such"}, {"device": "\0"}, {"begin": "yesterday"}, {"end": "9999-12-31"},
        {"begin": "0001-01-01"}, {"over": "years"}, {"project": "\0"}, {"begin": "2026-13-45"}, {"tag": "x" * 5000},
    ],
)  # fmt: skip
def test_what_makes_no_sense_narrows_nothing(cast: Cast, query: dict[str, str]) -> None:
    add_figures(make_run(cast.team, "only"), 50.0)
    assert names(page(browser_of(cast.owner), **query)) == ["only"]


def test_over_weeks_a_point_is_the_median_of_its_runs_and_leads_to_them(cast: Cast) -> None:
    client = browser_of(cast.owner)
    assert monday(NOON) == dt.date(2026, 2, 23)
    for name, age_m, wall_s in (("a", 0, 50.0), ("b", DAY_M, 60.0), ("c", 2 * DAY_M, 52.0), ("d", 8 * DAY_M, 40.0)):
        add_figures(make_run(cast.team, name, age_m=age_m), wall_s)
    html = page(client, over="weeks")

    assert names(html) == ["week of 16 Feb 2026", "week of 23 Feb 2026"]
    assert values(html, "round_s") == [[40.0, 40.0, 40.0], [50.0, 52.0, 60.0]]
    assert "week of 23 Feb 2026 3 2 × NVIDIA A40 52.0 s 50.0 s to 60.0 s" in words(html).replace("\xa0", " ")
    href = drawn(html)["spots"][1]["href"]
    assert names(client.get(href).content.decode()) == ["c", "b", "a"]


def test_what_is_known_of_no_run_has_no_chart_and_is_said(cast: Cast) -> None:
    add_figures(make_run(cast.team), 50.0)
    html = page(browser_of(cast.owner))
    assert re.findall(r'data-measure="(\w+)"', html) == ["round_s", "findings"]
    assert "Not known of any of these runs: GPU waiting, Exchange between nodes, Encode p95, Memory peak" in words(html)


def test_a_project_without_a_judged_run_says_how_one_appears(cast: Cast) -> None:
    make_run(cast.team)
    assert "No run with a judged round yet" in page(browser_of(cast.owner))


def test_nothing_of_another_team_is_shown_or_may_be_chosen(cast: Cast) -> None:
    add_figures(make_run(cast.team, "secret", project="secret", tags=["secret"]), 50.0, device="secret")
    stranger = browser_of(cast.stranger)
    for query in ({}, {"project": "secret"}, {"tag": "secret"}, {"device": "secret"}):
        assert "secret" not in page(stranger, **query)
    assert Client().get("/trends/").status_code == 302


def test_markup_and_direction_in_names_end_nothing(cast: Cast) -> None:
    run = make_run(cast.team, MARKUP, project=MARKUP, tags=[MARKUP, "\u202etfel"])
    add_figures(run, 50.0, device=MARKUP[:100])
    html = page(browser_of(cast.owner))
    assert MARKUP not in html
    assert "<img" not in html
    assert names(html) == [MARKUP]


def test_tags_that_are_no_list_are_none(cast: Cast) -> None:
    run = make_run(cast.team)
    add_figures(run, 50.0)
    Run.objects.update(tags={"not": "a list"})
    assert names(page(browser_of(cast.owner))) == [run.name]


def test_queries_do_not_grow_with_runs(cast: Cast, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    client = browser_of(cast.owner)
    for at in range(3):
        add_figures(make_run(cast.team, f"run-{at}", age_m=at), 50.0)
    with django_assert_num_queries(10):
        client.get("/trends/")
    for at in range(20):
        add_figures(make_run(cast.team, f"more-{at}", age_m=at), 50.0, device=f"device {at}")
    with django_assert_num_queries(10) as asked:
        client.get("/trends/")
    # One training's configuration may be as long as all else on the page.
    assert not [one["sql"] for one in asked.captured_queries if '"config"' in one["sql"]]
