"""The page of a run's conditions: what differs between its hosts stands first, with who said what."""

import re
from typing import Any

import pytest

from dashboard.runs import facts
from dashboard.runs.conditions import changed, compared, configured, starved
from ingest.queries.conditions import Told
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import make_run
from tests.ingest.batches import Recorder
from tests.ingest.delivery import deliver

SHARED = {"torch": "2.9.1", "environment": {"OMP_NUM_THREADS": "8"}, "memory_bytes": 64 << 30}


def said(worker: str, machine: str, *, attempt: int = 0, newest: bool = True, **known: Any) -> Told:
    return Told(worker, "trainer", machine, f"host of {machine}", attempt, newest, SHARED | known)


def test_what_differs_names_whole_hosts_and_else_workers() -> None:
    now = [
        said("rank-0", "a", cpus=32, visible_cpus=32), said("rank-1", "a", cpus=32, visible_cpus=4),
        said("rank-2", "b", cpus=64, visible_cpus=32),
    ]  # fmt: skip
    rows = {row.label: [(str(each.value), each.who) for each in row.said] for row in compared(now)}
    assert rows["CPUs of the host"] == [("32", ["host of a"]), ("64", ["host of b"])]
    assert rows["CPUs that software sees"] == [("32", ["rank-0", "host of b"]), ("4", ["rank-1"])]
    assert len(rows["torch"]) == len(rows["environment OMP_NUM_THREADS"]) == 1


def test_who_did_not_tell_is_told_too() -> None:
    now = [said("rank-0", "a", devices="8 x A40"), said("coordinator", "b")]
    row = next(row for row in compared(now) if row.label == "devices")
    assert [(str(each.value), each.who) for each in row.said] == [
        ("8 x A40", ["host of a"]), ("not known", ["host of b"]),
    ]  # fmt: skip


def test_a_quota_below_the_cpus_that_are_seen_is_pointed_out() -> None:
    now = [said("rank-0", "a", cpu_quota_cpus=6.0, visible_cpus=32), said("rank-1", "b", visible_cpus=32)]
    assert [(str(each.value), each.who) for each in starved(now)] == [
        ("32 CPUs are seen, and the quota is worth 6", ["host of a"])
    ]
    assert starved([said("rank-0", "a", cpu_quota_cpus=6.0, visible_cpus=6)]) == []


def test_what_a_restart_changed_is_told_and_what_it_kept_is_not() -> None:
    attempts = [
        said("rank-0", "a", newest=False, driver="550"), said("rank-0", "a", attempt=1, driver="560"),
        said("rank-1", "b", driver="560"),
    ]  # fmt: skip
    assert [(row.label, str(row.said[0].value), row.said[0].who) for row in changed(attempts)] == [
        ("device driver", "550 → 560", ["host of a"])
    ]


@pytest.mark.parametrize(
    ("name", "value", "words", "href"),
    [
        ("memory_bytes", 64 << 30, "64.0 GiB", ""), ("cpu_quota_cpus", 1.5, "1.5 CPUs", ""), ("cpus", 8, "8", ""),
        ("wandb", "https://wandb.example/r/1", "https://wandb.example/r/1", "https://wandb.example/r/1"),
        ("wandb", "javascript:alert(1)", "javascript:alert(1)", ""),
        ("kernel", "https://x.example", "https://x.example", ""),
        ("notes", "x" * 600, "x" * 500, ""),
        ("flags", [1, None], "[1, null]", ""), ("fast", True, "true", ""), ("cpus", 10**400, str(10**400), ""),
    ],
)  # fmt: skip
def test_values_have_units_and_only_trackers_become_links(name: str, value: Any, words: str, href: str) -> None:
    shown = facts.value(name, facts.text({name: value}, name))
    assert (shown.text.replace("\N{NO-BREAK SPACE}", " "), shown.href) == (words, href)


@pytest.mark.django_db
def test_the_page_shows_differences_first_and_a_stranger_nothing(cast: Cast) -> None:
    for index, driver in enumerate(("550", "560")):
        recorder = Recorder(f"rank-{index}", machine=f"m{index}", began_ns=1_764_000_000 * 10**9)
        deliver(cast.team.id, recorder.begin(conditions=SHARED | {"driver": driver}).batch())
    page = f"/runs/{cast.team.runs.get().pk}/conditions/"
    text = re.sub(r"\s+", " ", browser_of(cast.viewer).get(page).content.decode())
    assert text.index("What differs") < text.index("device driver") < text.index("The same for all 2 workers")
    assert text.index("The same for all 2 workers") < text.index("OMP_NUM_THREADS")
    assert browser_of(cast.stranger).get(page).status_code == 404


@pytest.mark.django_db
def test_a_run_without_conditions_teaches_and_an_older_one_shows_what_it_has(cast: Cast) -> None:
    browser = browser_of(cast.viewer)
    assert b"roundwatch doctor" in browser.get(f"/runs/{make_run(cast.team).pk}/conditions/").content
    older = make_run(cast.team, conditions={"torch": "2.1"})
    assert b"As the newest of its workers said" in browser.get(f"/runs/{older.pk}/conditions/").content


def test_settings_are_listed_flat_by_name_and_cut_where_they_are_long() -> None:
    deep: dict[str, Any] = {"end": 1}
    for _ in range(20):
        deep = {"x": deep}
    rows = configured({"lr": 3e-4, "optimizer": {"name": "adamw", "betas": [0.9, 0.95]}, "none": {}, "long": "x" * 600})
    assert [(row.label, str(row.said[0].value)) for row in rows] == [
        ("long", "x" * 500 + "…"), ("lr", "0.0003"), ("none", "{}"), ("optimizer.betas", "[0.9, 0.95]"),
        ("optimizer.name", "adamw"),
    ]  # fmt: skip
    assert configured(deep)[0].label.count(".") == 8


@pytest.mark.django_db
def test_the_page_shows_the_configuration_as_text_and_says_how_much_it_leaves_out(cast: Cast) -> None:
    config = {"model": {"name": "<b>vit</b>"}, "home": "https://x.example/"} | {f"n{n}": n for n in range(400)}
    run = make_run(cast.team, config=config)
    page = browser_of(cast.viewer).get(f"/runs/{run.pk}/conditions/").content.decode()
    assert "model.name" in page
    assert "&lt;b&gt;vit" in page
    assert "<b>vit" not in page
    assert 'href="https://x.example/"' not in page
    assert "and 102 more" in page
    bare = make_run(cast.team)
    assert "Configuration" not in browser_of(cast.viewer).get(f"/runs/{bare.pk}/conditions/").content.decode()
