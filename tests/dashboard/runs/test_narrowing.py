"""What the list is narrowed, searched and sorted by, and what its address says of it."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.runs.models import Star
from ingest.models import Run
from ingest.queries.run_list import page as page_of
from ingest.queries.run_list import runs_of
from ingest.queries.run_search import matching, words_in
from ingest.queries.run_settings import comparisons
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_finding, add_round, add_workers, make_run, settle

pytestmark = pytest.mark.django_db


def names_on(client: Client, **asked: str) -> list[str]:
    """Names in the order of the list."""
    answer = client.get("/", asked)
    assert answer.status_code == 200
    return re.findall(r'<a id="run-[^>]*><bdi>([^<]*)</bdi>', answer.content.decode())


def chips_on(client: Client, **asked: str) -> dict[str, dict[str, list[str]]]:
    """What each chip says, and what the list is asked for without it."""
    text = client.get("/", asked).content.decode()
    found = re.findall(r'<a class="chip" href="([^"]*)"[^>]*><bdi>(.*?)</bdi>', text)
    return {unescape(says): parse_qs(urlsplit(unescape(href)).query) for href, says in found}


@pytest.fixture
def history(cast: Cast) -> Cast:
    """Three ended runs, alpha the oldest, that differ in all that can be asked for."""
    alpha = make_run(
        cast.team, "vit-b16-run6", age_m=30, state="finished", tags=["baseline", "keep"], notes="The old *record*.",
        config={"lr": 1e-4, "optimizer": {"name": "adamw", "betas": [0.9, 0.95]}, "amp": True, "steps": 10},
        ended_at=timezone.now(),
    )  # fmt: skip
    beta = make_run(
        cast.team, "lm_small.v2", age_m=20, project="lm", state="failed", tags=["keep"],
        config={"lr": 1e-2, "optimizer": {"name": "sgd"}, "amp": False, "steps": "10"}, ended_at=timezone.now(),
    )  # fmt: skip
    make_run(cast.team, "Gamma", age_m=10, project="lm", config={"steps": 20.0, "lr": None}, ended_at=timezone.now())
    add_workers(alpha, ["boot-1", "boot-2"])
    add_finding(beta, [0], state="resolved")
    Star.objects.create(user=cast.viewer, run=beta)
    settle()
    Run.objects.filter(pk=alpha.pk).update(devices=["NVIDIA A40"], person="mika")
    return cast


A, B, C = "vit-b16-run6", "lm_small.v2", "Gamma"


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"tag": "keep"}, [B, A]),
        ({"tag": "keep, baseline"}, [A]),
        ({"tag": "Keep"}, []),
        ({"machine": "node0"}, [A]),
        ({"machine": "boot-2"}, [A]),
        ({"device": "NVIDIA A40"}, [A]),
        ({"person": "mika"}, [A]),
        ({"findings": "straggler"}, [B]),
        ({"config": "config.lr < 1e-3"}, [A]),
        ({"config": "lr<=1e-2"}, [B, A]),
        ({"config": "lr > 1e-4 and optimizer.name = sgd"}, [B]),
        ({"config": "lr > 1e-4, optimizer.name = adamw"}, []),
        ({"config": "optimizer.name != adamw"}, [B]),
        ({"config": "amp = true"}, [A]),
        ({"config": "amp = false"}, [B]),
        ({"config": "steps = 10"}, [B, A]),
        ({"config": "steps == 20"}, [C]),
        ({"config": "steps != 20"}, [B, A]),
        ({"config": "steps > 5"}, [C, A]),
        ({"config": "lr = null"}, [C]),
        ({"config": "nothing = 1"}, []),
        ({"config": 'optimizer.betas = "[0.9, 0.95]"'}, [A]),
        ({"since": "2026-03-01", "until": "2026-03-01"}, [C, B, A]),
        ({"since": "2026-03-02"}, []),
        ({"until": "2026-02-28"}, []),
        ({"since": "yesterday"}, [C, B, A]),
        ({"until": "9999-12-31"}, [C, B, A]),
        ({"started": "1d"}, []),
        ({"starred": "mine"}, [B]),
        ({"archived": "only"}, []),
        ({"archived": "too"}, [C, B, A]),
        ({"q": "vit-b"}, [A]),
        ({"q": "vit_b"}, [A]),
        ({"q": "b16"}, [A]),
        ({"q": "16"}, [A]),
        ({"q": "run6 vit"}, [A]),
        ({"q": "it"}, []),
        ({"q": "small"}, [B]),
        ({"q": "GAMM"}, [C]),
        ({"q": "base"}, [A]),
        ({"q": "record"}, [A]),
        ({"q": "strag"}, [B]),
        ({"q": "node1"}, [A]),
        ({"q": "mik"}, [A]),
        ({"q": "' | 'gamma':*"}, [C]),
        ({"q": "!gamma"}, [C]),
        ({"q": "\\"}, []),
    ],
)
def test_what_is_asked_for_is_what_is_listed(history: Cast, asked: dict[str, str], kept: list[str]) -> None:
    assert names_on(browser_of(history.viewer), sort="-started", **asked) == kept


def test_a_star_is_one_persons(history: Cast) -> None:
    assert names_on(browser_of(history.owner), starred="mine") == []


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("lr", "“lr” is not understood"),
        ("lr <", "“lr &lt;” is not understood"),
        ("< 3", "“&lt; 3” is not understood"),
        ("lr < adamw", "“adamw” is no number"),
        ("lr < nan", "“nan” is no number"),
        ("lr < 1e999", "“1e999” is no number"),
        (" and ".join(f"s{n} = 1" for n in range(9)), "At most 8 values"),
        ("<img src=x>", "“&lt;img src=x&gt;” is not understood"),
    ],
)
def test_nonsense_about_the_configuration_is_answered_in_a_sentence_and_narrows_nothing(
    history: Cast, asked: str, says: str
) -> None:
    client = browser_of(history.owner)
    text = client.get("/", {"config": asked}).content.decode()
    assert says in re.sub(r"\s+", " ", text)
    assert len(names_on(client, config=asked)) == 3


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, 10**400, {"deep": {"er": 1}}, "x" * 5_000, [1] * 500, "NaN"])
def test_any_configuration_can_be_kept_and_asked_for(cast: Cast, value: object) -> None:
    run = make_run(cast.team, "alpha", config={"value": value, "other": 1})
    Run.objects.filter(pk=run.pk).update(config={"value": value, "other": 2})
    assert names_on(browser_of(cast.owner), config="other = 2") == ["alpha"]
    assert names_on(browser_of(cast.owner), config="other = 1") == []


def test_a_comparison_reads_as_it_was_meant() -> None:
    (one,) = comparisons("  config.optimizer.lr<=1e-3 ")
    assert (one.path, one.sign, one.number, str(one)) == ("optimizer.lr", "<=", 1e-3, "config.optimizer.lr <= 1e-3")
    (quoted,) = comparisons('steps = "10"')
    assert (quoted.text, quoted.number) == ("10", None)


def test_words_are_read_as_they_were_kept(cast: Cast) -> None:
    assert words_in("ViT_B16  run.6 -- É/x") == ["vit-b16", "run-6", "É-x"]
    make_run(cast.team, "Größe-É/x")
    for text in ("größe", "Grö", "É", "x"):
        assert names_on(browser_of(cast.owner), q=text) == ["Größe-É/x"]


def test_every_chip_leads_to_the_list_without_it(history: Cast) -> None:
    asked = {"tag": "keep, baseline", "config": "lr < 1 and steps = 10", "project": "lm", "sort": "-started"}
    chips = chips_on(browser_of(history.owner), **asked)
    assert list(chips) == ["project lm", "tag keep", "tag baseline", "config.lr < 1", "config.steps = 10"]
    assert chips["tag keep"]["tag"] == ["baseline"]
    assert chips["config.lr < 1"]["config"] == ["config.steps = 10"]
    assert "project" not in chips["project lm"]
    assert all(rest["sort"] == ["-started"] for rest in chips.values())


def test_what_goes_on_stands_first_and_then_the_newest(cast: Cast) -> None:
    make_run(cast.team, "old and running", age_m=99)
    make_run(cast.team, "newest", age_m=1, state="finished", ended_at=timezone.now())
    make_run(cast.team, "older", age_m=2, state="failed", ended_at=timezone.now())
    make_run(cast.team, "stale", age_m=98, state="stale")
    assert names_on(browser_of(cast.owner)) == ["stale", "old and running", "newest", "older"]
    assert names_on(browser_of(cast.owner), sort="-started")[:2] == ["newest", "older"]


def in_an_order(cast: Cast, count: int = 70) -> None:
    """Runs of which some have equal figures, and some none."""
    for number in range(count):
        run = make_run(cast.team, f"run-{number:03}", age_m=number % 7, ended_at=timezone.now() if number % 2 else None)
        add_workers(run, ["m"] * (number % 3))
        if number % 4:
            add_round(run, number % 5, 1.0 + number % 5, gpu_waiting_share=number % 3 / 3, items=float(number % 6))
        if number % 10 == 0:
            add_finding(run, [0])
    settle()


ORDERS = [
    "", "name", "-name", "started", "-started", "gpus", "-gpus", "round", "-round", "duration", "-duration",
    "-gpu_hours", "throughput", "-round_time", "round_time", "waiting", "-waiting", "longest", "findings", "-findings",
]  # fmt: skip


def test_pages_in_any_order_show_each_run_once_in_that_order(cast: Cast) -> None:
    in_an_order(cast)
    client = browser_of(cast.owner)
    figures = dict(Run.objects.values_list("name", "standing__round_s"))
    for sort in ORDERS:
        seen, asked = list[str](), {"sort": sort}
        for _ in range(3):
            seen += names_on(client, **asked)
            text = client.get("/", asked).content.decode()
            behind = re.search(r'href="([^"]+)" rel="next"', text)
            if behind is None:
                break
            asked = {name: value[0] for name, value in parse_qs(urlsplit(unescape(behind[1])).query).items()}
        assert len(seen) == 70, sort
        assert sorted(seen) == [f"run-{number:03}" for number in range(70)], sort
        if sort.endswith("round_time"):
            known = [figures[name] for name in seen if figures[name] is not None]
            assert known == sorted(known, reverse=sort.startswith("-"))
            # Those without such a figure come last, whichever way it is sorted.
            assert all(figures[name] is not None for name in seen[: len(known)])


def test_the_next_runs_are_looked_up_one_by_one_and_joined_with_none(cast: Cast) -> None:
    in_an_order(cast)
    with CaptureQueriesContext(connection) as asked:
        page_of(matching(runs_of(cast.team.pk), "run 0"), cast.team.pk, narrowed=True)
    looked_up = [
        one["sql"] for one in asked.captured_queries if one["sql"].count("LIMIT") > 1 and "COUNT" not in one["sql"]
    ]
    assert looked_up
    for sql in looked_up:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "InitPlan" in plan
        assert "Semi Join" not in plan


def test_an_order_that_is_none_is_left_out_of_the_address(cast: Cast) -> None:
    make_run(cast.team, "alpha")
    headers = {"HX-Request": "true", "HX-Trigger": "filters"}
    answer = browser_of(cast.owner).get("/?sort=-secret&tag=a", headers=headers)
    assert answer["HX-Push-Url"] == "/?tag=a"
    assert b'id="narrowed"' in answer.content


def test_a_heading_sorts_the_greatest_first_then_the_least_then_not_at_all(cast: Cast) -> None:
    make_run(cast.team, "alpha")
    client, sort, seen = browser_of(cast.owner), "", []
    for _ in range(3):
        text = client.get("/", {"sort": sort, "state": "running"}).content.decode()
        href = unescape(re.search(r'<a href="([^"]*)">Round time', text)[1])  # type: ignore[index]
        assert parse_qs(urlsplit(href).query)["state"] == ["running"]
        sort = parse_qs(urlsplit(href).query).get("sort", [""])[0]
        seen.append(sort)
    assert seen == ["-round_time", "round_time", ""]


def test_runs_in_the_archive_are_neither_listed_nor_counted(cast: Cast) -> None:
    make_run(cast.team, "alpha", archived_at=timezone.now() - timedelta(days=1))
    make_run(cast.team, "beta")
    client = browser_of(cast.owner)
    assert names_on(client) == ["beta"]
    assert names_on(client, archived="only") == ["alpha"]
    assert "1 in <bdi>Vision team</bdi>" in client.get("/").content.decode()


def test_labels_and_words_of_another_team_find_nothing(cast: Cast) -> None:
    foreign = make_run(cast.other_team, "secret", tags=["concealed"], config={"lr": 1}, person="stan")
    add_workers(foreign, ["m-9"])
    settle()
    client = browser_of(cast.owner)
    for asked in ({"tag": "concealed"}, {"config": "lr = 1"}, {"machine": "m-9"}, {"q": "secret"}, {"person": "stan"}):
        assert names_on(client, **asked) == []
    page = client.get("/").content.decode()
    assert "concealed" not in page
    assert "m-9" not in page
