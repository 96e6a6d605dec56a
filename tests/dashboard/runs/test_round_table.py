"""The table of a run's rounds: what a row says, and pages that neither lose nor repeat a round however it is sorted."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ingest.models import Analysis, Run
from ingest.queries.rounds_table import Order, table
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_finding, add_round, kinds, make_run

pytestmark = pytest.mark.django_db
WALLS = (5.0, 3.0, 9.0, 3.0, 7.0, 3.0, 1.0)


def words_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).replace("\N{NO-BREAK SPACE}", " ").split())


def numbers_on(client: Client, path: str) -> tuple[list[int], str]:
    """The rounds of a page, and the address of the next."""
    page = client.get(path).content.decode()
    more = re.search(r'<a href="([^"]*)" rel="next">', page)
    found = re.findall(r'data-label="Round"[^>]*>\s*<a [^>]*>([\d,]+)</a>', page)
    return [int(number.replace(",", "")) for number in found], more[1].replace("&amp;", "&") if more else ""


@pytest.fixture
def run(cast: Cast) -> Run:
    made = make_run(cast.team)
    for index, wall_s in enumerate(WALLS):
        add_round(made, index, wall_s)
    return made


@pytest.mark.parametrize(
    ("order", "numbers"),
    [
        (Order.NEWEST, [6, 5, 4, 3, 2, 1, 0]), (Order.OLDEST, [0, 1, 2, 3, 4, 5, 6]),
        (Order.SLOWEST, [2, 4, 0, 5, 3, 1, 6]), (Order.FASTEST, [6, 1, 3, 5, 0, 4, 2]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_hold_each_round_once_in_order_also_where_times_are_equal(
    run: Run, order: Order, numbers: list[int], limit: int
) -> None:
    found: list[int] = []
    after = None
    while True:
        page = table(run, order, after=after, limit=limit)
        assert 0 < len(page.items) <= limit
        found += [row.index for row in page.items]
        if (after := page.next) is None:
            break
    assert found == numbers


def test_a_row_says_what_is_known_of_a_round(cast: Cast) -> None:
    run = make_run(cast.team)
    row = add_round(run, 4, 8.0, coverage=0.95, gpu_waiting_share=0.4, kind_seconds=kinds(compute=4.0, encode=2.0))
    path = [
        {"worker": "host-1", "phase": "encode", "begin_ns": 0, "end_ns": 2_000_000_000, "gap": False},
        {"worker": "<b>host-2</b>", "phase": "sync", "begin_ns": 0, "end_ns": 3_000_000_000, "gap": True},
    ]
    Analysis.objects.create(round=row, version=row.data_version, content={"path": path})
    add_finding(run, [4, 5])
    client = browser_of(cast.viewer)
    words = words_of(client, f"/runs/{run.pk}/rounds/")
    assert "4 2026-03-01 12:04:00 8.00 s 40 % 95 % compute 50 %, encode 25 %" in words
    assert "gap before sync &lt;b&gt;host-2&lt;/b&gt; 3.00 s slow encode" in words
    room = 640_000_000
    href = f"/runs/{run.pk}/?from={row.begin_ns - room}&amp;to={(row.end_ns or 0) + room}&amp;round=4"
    assert f'href="{href}"' in client.get(f"/runs/{run.pk}/rounds/").content.decode()


def test_an_analysis_of_older_data_is_not_told(cast: Cast) -> None:
    row = add_round(make_run(cast.team), 0, 8.0, data_version=5)
    path = [{"worker": "w", "phase": "p", "begin_ns": 0, "end_ns": 9, "gap": False}]
    Analysis.objects.create(round=row, version=4, content={"path": path})
    assert table(row.run, Order.NEWEST, after=None, limit=5).items[0].longest is None


def test_an_open_round_stands_among_the_newest_and_not_among_the_slowest(cast: Cast, run: Run) -> None:
    add_round(run, 7, None)
    client = browser_of(cast.viewer)
    assert numbers_on(client, f"/runs/{run.pk}/rounds/")[0][0] == 7
    assert 7 not in numbers_on(client, f"/runs/{run.pk}/rounds/?sort=slowest")[0]


def test_the_newest_generation_stands_for_a_replayed_round(cast: Cast, run: Run) -> None:
    add_round(run, 2, 4.0, generation=1)
    add_round(run, 4, None, generation=1)
    slowest = table(run, Order.SLOWEST, after=None, limit=9).items
    assert [(row.index, row.wall_s) for row in slowest] == [(0, 5.0), (2, 4.0), (5, 3.0), (3, 3.0), (1, 3.0), (6, 1.0)]
    assert [row.generation for row in table(run, Order.NEWEST, after=None, limit=9).items] == [0, 0, 1, 0, 1, 0, 0]
    assert "generation 1" in words_of(browser_of(cast.viewer), f"/runs/{run.pk}/rounds/")


def test_the_page_leads_on_and_keeps_its_order(cast: Cast, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("dashboard.runs.round_table.PAGE", 4)
    client = browser_of(cast.viewer)
    first, more = numbers_on(client, f"/runs/{run.pk}/rounds/?sort=slowest")
    rest, end = numbers_on(client, more)
    assert (first, rest, end) == ([2, 4, 0, 5], [3, 1, 6], "")
    assert "← From the beginning" in words_of(client, more)


@pytest.mark.parametrize("after", ["x", "1", "1.", "1.-2", "1.2.3", f"1.{1 << 31}", f"{'9' * 30}.1", "1.2\0"])
def test_a_place_that_is_none_is_not_found(cast: Cast, run: Run, after: str) -> None:
    answer = browser_of(cast.viewer).get(f"/runs/{run.pk}/rounds/", {"after": after})
    assert answer.status_code == 404


def test_a_run_without_rounds_says_how_they_begin_and_a_stranger_learns_nothing(cast: Cast) -> None:
    run = make_run(cast.team)
    assert "run.round(index)" in words_of(browser_of(cast.viewer), f"/runs/{run.pk}/rounds/")
    assert "No round yet" in words_of(browser_of(cast.viewer), f"/runs/{run.pk}/rounds/?sort=nonsense")
    assert browser_of(cast.stranger).get(f"/runs/{run.pk}/rounds/").status_code == 404


def test_a_page_of_a_long_table_takes_few_queries_and_walks_an_index(cast: Cast) -> None:
    run = make_run(cast.team)
    for index in range(60):
        add_round(run, index, 1.0 + index % 7)
    client = browser_of(cast.owner)
    for sort in Order:
        with CaptureQueriesContext(connection) as queries:
            assert len(numbers_on(client, f"/runs/{run.pk}/rounds/?sort={sort}")[0]) == 50
        assert len(queries) <= 8
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        with CaptureQueriesContext(connection) as queries:
            table(run, Order.SLOWEST, after=(3_000_000_000, 9), limit=50)
        asked = next(query["sql"] for query in queries if "NOT EXISTS" in query["sql"])
        cursor.execute("EXPLAIN " + asked)
        assert "round_wall" in "\n".join(line for (line,) in cursor.fetchall())
