"""The list of runs: what a row says, what the filters keep, and that nothing of another team is in it."""

import base64
import json
import re
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from ingest.queries.run_list import page, runs_of
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_finding, add_round, add_workers, kinds, make_run, settle

pytestmark = pytest.mark.django_db
POLL = {"HX-Request": "true", "HX-Trigger": "runs"}


def text_of(client: Client, path: str = "/") -> str:
    """The page's words, one blank between them."""
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def names_on(client: Client, path: str = "/") -> list[str]:
    return re.findall(r'<a id="run-[^>]*><bdi>([^<]*)</bdi>', client.get(path).content.decode())


def test_a_row_says_what_is_known_of_a_run(cast: Cast) -> None:
    run = make_run(cast.team, "run6", rounds_planned=20)
    add_workers(run, ["m-1", "m-1", "m-2"])
    for index, wall_s in enumerate((50.0, 52.3, 61.4)):
        add_round(run, index, wall_s, kind_seconds=kinds(compute=wall_s / 2, encode=wall_s / 4), gpu_waiting_share=0.5)
    add_round(run, 3, None)
    add_finding(run, [2])
    words = text_of(browser_of(cast.owner))
    assert "1 in Vision team · 1 running · 1 needs a look" in words
    assert "run6 vit-pets" in words
    assert "running 3 workers 3/20" in words
    assert "52.3 s Last 3 rounds: 50.0 s to 61.4 s, median 52.3 s" in words
    assert "50 % compute 50 %, encode 25 %" in words
    assert "1 open: slow encode" in words


def test_runs_of_one_name_are_told_apart_by_begin_and_key(cast: Cast) -> None:
    runs = [make_run(cast.team, "nightly", key=key) for key in ("job-1", "job-2")]
    html = browser_of(cast.owner).get("/").content.decode()
    for run in runs:
        assert f'title="nightly, started {run.started_at:%Y-%m-%d %H:%M:%S} UTC, key {run.key}"' in html


def test_what_is_not_known_is_a_dash_and_no_zero(cast: Cast) -> None:
    make_run(cast.team, "fresh", state="finished", ended_at=timezone.now())
    words = text_of(browser_of(cast.owner))
    assert re.search(r"fresh .* finished – – .* – – – – –", words)
    assert "<polyline" not in browser_of(cast.owner).get("/").content.decode()


def test_of_a_replayed_round_the_newest_generation_counts(cast: Cast) -> None:
    run = make_run(cast.team)
    add_round(run, 0, 10.0)
    add_round(run, 1, 99.0)
    add_round(run, 1, 12.0, generation=1)
    add_round(run, 2, 77.0)
    add_round(run, 2, None, generation=1)
    (row,) = page(runs_of(cast.team.pk), cast.team.pk).rows
    assert [(each.index, each.wall_s) for each in row.rounds] == [(0, 10.0), (1, 12.0)]
    assert (row.rounds_done, row.rounds_begun, row.round_s) == (2, 3, 11.0)


def test_a_long_run_is_shown_by_its_last_forty_rounds(cast: Cast) -> None:
    run = make_run(cast.team)
    for index in range(60):
        add_round(run, index, 1.0 if index < 20 else 2.0)
    (row,) = page(runs_of(cast.team.pk), cast.team.pk).rows
    assert (len(row.rounds), row.rounds[0].index, row.rounds_done, row.round_s) == (40, 20, 60, 2.0)


def test_a_finding_marks_its_rounds_and_an_open_one_is_named_first(cast: Cast) -> None:
    run = make_run(cast.team)
    for index in range(4):
        add_round(run, index, 10.0)
    add_finding(run, [1], phase="upload", state="resolved")
    add_finding(run, [3], phase="encode", age_m=30)
    (row,) = page(runs_of(cast.team.pk), cast.team.pk).rows
    assert (row.open_findings, row.all_findings, row.flagged) == (1, 2, {1, 3})
    assert row.finding is not None
    assert row.finding.phase == "encode"
    assert browser_of(cast.owner).get("/").content.count(b"<circle") == 2


def test_rows_cost_no_query_each(cast: Cast, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    client = browser_of(cast.owner)
    for index in range(30):
        run = make_run(cast.team, f"run-{index}")
        add_workers(run, ["m"])
        add_round(run, 0, 1.0)
        add_finding(run, [0])
    settle()
    # session and person, teams twice (view and frame), projects, labels, columns, role twice, runs that go on, others,
    # workers, rounds, findings, stars, three totals, views
    with django_assert_num_queries(19):
        assert len(names_on(client)) == 30


def test_runs_of_another_team_are_neither_listed_nor_counted(cast: Cast) -> None:
    foreign = make_run(cast.other_team, "secret-run", project="secret-project")
    add_workers(foreign, ["m"])
    add_finding(foreign, [0])
    settle()
    client = browser_of(cast.owner)
    for path in ("/", "/?q=secret", "/?project=secret-project", "/?q=host-00", "/?findings=open"):
        page_text = client.get(path).content.decode()
        assert foreign.pk.hex not in page_text.replace("-", "")
        assert "secret-run" not in page_text
        assert "0 in Vision team · 0 running" in text_of(client, path)
    assert "secret-project" not in client.get("/").content.decode()
    assert names_on(browser_of(cast.stranger)) == ["secret-run"]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("", ["gamma", "beta", "alpha"]),
        ("?q=ALPH", ["alpha"]),
        ("?q=node1", ["beta"]),
        ("?q=lm-sm", ["gamma"]),
        ("?q=%25", []),
        ("?q=_", []),
        ("?q=%00", ["gamma", "beta", "alpha"]),
        ("?project=vit-pets", ["beta", "alpha"]),
        ("?project=gone", []),
        ("?state=failed", ["beta"]),
        ("?state=nonsense", ["gamma", "beta", "alpha"]),
        ("?findings=open", ["alpha"]),
        ("?findings=straggler", ["beta", "alpha"]),
        ("?findings=%27nonsense", ["gamma", "beta", "alpha"]),
        ("?project=vit-pets&state=failed&q=bet", ["beta"]),
    ],
)
def test_filters_keep_what_they_say(cast: Cast, query: str, kept: list[str]) -> None:
    alpha = make_run(cast.team, "alpha", age_m=3)
    beta = make_run(cast.team, "beta", age_m=2, state="failed")
    make_run(cast.team, "gamma", age_m=1, project="lm-small")
    add_workers(beta, ["m-1", "m-2"])
    add_finding(alpha, [0])
    add_finding(beta, [0], state="resolved")
    settle()
    assert names_on(browser_of(cast.owner), f"/{query}") == kept


def test_a_filter_is_in_the_address_without_what_was_left_empty(cast: Cast) -> None:
    make_run(cast.team, "alpha")
    headers = {"HX-Request": "true", "HX-Trigger": "filters"}
    answer = browser_of(cast.owner).get("/?q=alp&project=&state=&findings=", headers=headers)
    assert answer["HX-Push-Url"] == "/?q=alp"
    assert b"<html" not in answer.content


def test_pages_of_older_runs_show_each_run_once_also_when_all_began_together(cast: Cast) -> None:
    for index in range(120):
        make_run(cast.team, f"run-{index:03}", state="failed" if index % 2 else "finished")
    client, path, seen = browser_of(cast.owner), "/?state=finished", list[str]()
    for _ in range(3):
        seen += names_on(client, path)
        older = re.search(r'href="([^"]+)" rel="next"', client.get(path).content.decode())
        if older is None:
            break
        path = older[1].replace("&amp;", "&")
        assert "state=finished" in path
    assert sorted(seen) == [f"run-{index:03}" for index in range(0, 120, 2)]


def cursor_of(*place: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        *("nonsense", "1-2", "-", "é", "[]", cursor_of(), cursor_of(0, 1), cursor_of(9, 1, "0" * 32)),
        *(cursor_of(0, value, "0" * 32) for value in (10**400, [], float("nan"))),
        *(cursor_of(0, 1, key) for key in ("z" * 32, None)),
        cursor_of([], 1, "0" * 32),
    ],
)
@pytest.mark.parametrize("sort", ["", "-gpu_hours", "findings"])
def test_a_cursor_that_is_none_is_no_page(cast: Cast, cursor: str, sort: str) -> None:
    assert browser_of(cast.owner).get("/", {"after": cursor, "sort": sort}).status_code == 404


@pytest.mark.parametrize("value", ["\0", "\ud800", 5, None])
def test_a_place_behind_a_name_that_no_run_can_have_is_no_page(cast: Cast, value: object) -> None:
    cursor = cursor_of(0, value, "0" * 32)
    assert browser_of(cast.owner).get("/", {"after": cursor, "sort": "name"}).status_code == 404


def test_the_list_is_sent_again_only_when_it_has_changed(cast: Cast) -> None:
    run = make_run(cast.team, "alpha", state="finished", ended_at=timezone.now())
    client = browser_of(cast.owner)
    seen = re.search(r'"seen": "(\w+)"', client.get("/").content.decode())
    assert seen
    assert client.get("/", {"seen": seen[1]}, headers=POLL).status_code == 204
    add_round(run, 0, 5.0)
    changed = client.get("/", {"seen": seen[1]}, headers=POLL)
    assert changed.status_code == 200
    assert b'id="runs"' in changed.content
    assert b"<html" not in changed.content


def test_a_page_left_open_after_signing_out_reloads_and_shows_nothing(cast: Cast) -> None:
    make_run(cast.team, "alpha")
    answer = Client().get("/", headers=POLL)
    assert answer["HX-Refresh"] == "true"
    assert answer.content == b""
    assert Client().get("/")["Location"] == "/accounts/login/?next=/"


MARKUP = "<img src=x onerror=alert(1)>\"'&"


def test_markup_in_names_is_text(cast: Cast) -> None:
    run = make_run(cast.team, MARKUP, project=MARKUP, key=MARKUP)
    add_finding(run, [0], phase=MARKUP)
    page_text = browser_of(cast.owner).get(f"/?q={quote(MARKUP)}&project={quote(MARKUP)}").content.decode()
    assert page_text.count("&lt;img src=x onerror=alert(1)&gt;") > 4
    assert "<img" not in page_text


def test_a_team_without_runs_learns_how_to_connect_one(cast: Cast) -> None:
    words = text_of(browser_of(cast.owner))
    assert "No run yet" in words
    assert "import roundwatch" in words
    assert "No run matches" in text_of(browser_of(cast.owner), "/?q=x")
