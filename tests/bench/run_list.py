"""How long the list of runs takes with 100,000 of them: filters, searches, orders, deep pages; and a run's own pages.

Run as `python -m tests.bench run_list [--runs N] [--detailed N] [--times N]`. A real web server answers over HTTP; each
figure is the p95 of requests with other values each time. Before them stands how long it took to write the history.
"""

import argparse
import http.client
import itertools
import random
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from tests.bench.stage import Stage, stage
from tests.bench.table import Row, conditions, percentile, show

if TYPE_CHECKING:
    from tests.bench.history import History

MOST_MS, OVERVIEW_MS = 200.0, 150.0


def questions(runs: int) -> dict[str, Callable[[random.Random], dict[str, str]]]:
    """What is asked of the list, by name; each makes another question each time."""
    from ingest.queries.run_orders import SORTED_BY
    from tests.bench import history

    def some(*values: str) -> Callable[[random.Random], str]:
        return lambda chance: chance.choice(values)

    def asked(**make: Callable[[random.Random], str]) -> Callable[[random.Random], dict[str, str]]:
        return lambda chance: {name: one(chance) for name, one in make.items()}

    project = some(*history.PROJECTS)
    rare = some("config.lr < 2e-5", "config.seed = 77", "lr >= 0.099", "seed < 20")
    found: dict[str, Callable[[random.Random], dict[str, str]]] = {
        "all": asked(),
        "project": asked(project=project),
        "state": asked(state=some("running", "finished", "failed", "lost", "killed", "stale")),
        "project and state": asked(project=project, state=some("failed", "killed")),
        "open findings": asked(findings=some("open")),
        "kind of finding": asked(findings=some(*history.KINDS)),
        "tag of four in ten runs": asked(tag=some(history.COMMON_TAG)),
        "tag of one in a thousand": asked(tag=some(history.RARE_TAG)),
        "tag that no run has": asked(tag=some("nothing-has-it")),
        "person": asked(person=some(*history.PEOPLE)),
        "machine": asked(machine=lambda chance: f"gpu-node-{chance.randrange(400):03}"),
        "device": asked(device=some(*history.DEVICES)),
        "time": asked(since=lambda chance: f"20{chance.randrange(13, 26)}-01-01", until=some("2026-02-01")),
        "old time": asked(until=some("2013-01-01", "2012-08-15")),
        "configuration, most runs": asked(config=some("lr < 1", "batch >= 32", "optimizer.name != none")),
        "configuration, a third": asked(config=some("optimizer.name = adamw", "model.depth = 24", "batch = 64")),
        "configuration, few": asked(config=rare),
        "configuration, none": asked(config=some("lr > 5", "nothing = 3")),
        "two of the configuration": asked(config=some("lr < 1e-4 and optimizer.name = sgd", "batch = 32, lr > 0.05")),
        "starred": asked(starred=some("mine")),
        "archived": asked(archived=some("only", "too")),
        "search: beginning of very many names": asked(q=some("vit", "lm", "run", "gpu")),
        "search: one run": asked(q=lambda chance: history.name_of(chance.randrange(runs))),
        "search: several words": asked(q=some("vit b16", "mika vit-h", "gpu-node-003 straggler", "diloco run1")),
        "search: nothing": asked(q=some("zzz", "qqq xxx")),
        "search in a project, by GPU-hours": asked(q=some("b16", "run7"), project=project, sort=some("-gpu_hours")),
        "everything at once": asked(
            q=some("vit", "run"), project=project, findings=some("straggler"), device=some(*history.DEVICES),
            config=some("lr < 1e-2"), sort=some("-waiting", "round_time"),
        ),
    }  # fmt: skip
    orders = [f"{way}{name}" for name in SORTED_BY for way in ("", "-")]
    found |= {f"by {order}": asked(sort=some(order)) for order in orders}
    return found


class Asker:
    """Somebody who is signed in, on one connection."""

    def __init__(self, place: Stage, cookie: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(place.url).netloc)
        self._headers = {"Cookie": f"sessionid={cookie}"}

    def ask(self, path: str) -> tuple[float, str]:
        """Milliseconds, and the page; raises SystemExit where there is none."""
        begun = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read().decode()
        took = (time.perf_counter() - begun) * 1000
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        return took, text

    def p95(self, paths: Sequence[str]) -> float:
        """Of these paths, each asked once, after a first look at one of them."""
        self.ask(paths[0])
        return percentile([self.ask(path)[0] for path in paths], 0.95)


def signed_in() -> str:
    """The session of an owner of the stage's team."""
    from django.test import Client

    from dashboard.teams.models import Membership, Role, Team, User

    user = User.objects.create(username="bench", email="bench@example.org")
    Membership.objects.create(team=Team.objects.get(), user=user, role=Role.OWNER)
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def deep_pages(asker: Asker, first: str, count: int) -> float:
    """p95 of one page after the other."""
    path, took = first, []
    for _ in range(count):
        ms, text = asker.ask(path)
        took.append(ms)
        behind = re.search(r'href="([^"]+)" rel="next"', text)
        if behind is None:
            break
        path = behind[1].replace("&amp;", "&")
    return percentile(took, 0.95)


def pages_of_runs(asker: Asker, made: "History", times: int) -> list[Row]:
    """A finished run's pages."""
    from django.urls import NoReverseMatch, reverse

    rows = []
    for name, words, most in (
        ("run_overview", "a run's overview", OVERVIEW_MS),
        ("live:run", "a run's live page", None),
    ):
        try:
            paths = [reverse(name, args=[key]) for key in itertools.islice(itertools.cycle(made.detailed), times)]
        except NoReverseMatch:
            print(f"There is no page {name} here.")
            continue
        rows.append(Row(name=words, ours=asker.p95(paths), unit="ms", most=most))
    return rows


def main() -> None:
    """Print a row for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--detailed", type=int, default=500)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    conditions("run list", f"{options.runs:,} runs, {options.detailed} with phases; p95 of {options.times} requests")
    with stage() as place:
        from dashboard.teams.models import Team
        from tests.bench.history import fill

        begun = time.monotonic()
        made = fill(Team.objects.get().pk, runs=options.runs, detailed=options.detailed)
        show([Row(name="writing the history", ours=time.monotonic() - begun, unit="s")])
        asker, chance = Asker(place, signed_in()), random.Random(1)  # noqa: S311 - the same each time
        for name, make in questions(options.runs).items():
            paths = [f"/?{urlencode(make(chance))}" for _ in range(options.times)]
            show([Row(name=name, ours=asker.p95(paths), unit="ms", most=MOST_MS)])
        for order in ("", "-gpu_hours", "name"):
            ms = deep_pages(asker, f"/?sort={order}", options.times)
            show([Row(name=f"page after page, sort={order}", ours=ms, unit="ms", most=MOST_MS)])
        show(pages_of_runs(asker, made, options.times))


if __name__ == "__main__":
    main()
