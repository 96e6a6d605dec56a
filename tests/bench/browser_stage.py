"""A run with very many phases in a real store, and the live page that shows it in a real browser."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Browser, Page

from roundwatch import wire
from tests.bench.stage import Stage, stage

if TYPE_CHECKING:
    from dashboard.teams.models import User
    from tests.dashboard.live.stage import Stage as Run

SECOND = 1_000_000_000
WIDTH, HEIGHT = 1600, 900
NAMES = ("load", "train", "encode", "upload", "wait", "apply")
# Phases in turn, their lengths from a ninth of what there is room for to all of it.
FILL = """
INSERT INTO ingest_phase (run_id, worker_id, stream_id, number, start_number, parent, begin_ns, end_ns, offset_ns,
                          arrived, round, name_index, thread, kind, state)
SELECT %(run)s, %(worker)s, %(stream)s, 2 * i + 1, 2 * i, -1, %(begin)s + i * %(step)s::bigint,
       %(begin)s + i * %(step)s::bigint + %(step)s::bigint * (1 + i * 7 %% 9) / 9, 0, current_date, i / %(per_round)s,
       i %% %(names)s, 0,
       (%(kinds)s::int[])[1 + i %% %(names)s], 0
FROM generate_series(0::bigint, %(count)s - 1) AS i
"""
READ = """
INSERT INTO ingest_sample (series_id, stream_id, number, time_ns, value, arrived, round)
SELECT %(series)s, %(stream)s, 2 * %(count)s + i, %(begin)s + i * 1000000000::bigint, 4e9 + i * 1e7, current_date, -1
FROM generate_series(0::bigint, %(readings)s - 1) AS i
"""
HEARD = """
UPDATE ingest_stream SET numbers = int8multirange(int8range(0, 2 * %(count)s + %(readings)s)), heard_at = now(),
       opens_number = 2 * %(count)s + %(readings)s, highest = 2 * %(count)s + %(readings)s - 1,
       stored_count = 2 * %(count)s + %(readings)s WHERE id = %(stream)s
"""


@dataclass(frozen=True)
class Watched:
    """A started product and somebody who may look at its runs."""

    stage: Stage
    user: "User"

    def fill(self, lanes: int, spans: int, *, over_s: int = 100, rounds: int = 20) -> "Run":
        """A run of `lanes` workers with `spans` ended phases in all, spread evenly over its last `over_s` seconds."""
        from tests.dashboard.live.stage import Stage as Run

        run = Run(self.user.memberships.get().team)
        run.begin_ns += (120 - over_s) * SECOND
        names = [run.name(name) for name in NAMES]
        each = spans // lanes
        how = {
            "run": run.run.pk, "begin": run.begin_ns, "step": over_s * SECOND // each // 9000 * 9000, "count": each,
            "names": len(names), "kinds": [name.kind for name in names], "per_round": max(1, each // rounds),
            "readings": over_s,
        }  # fmt: skip
        for index in range(lanes):
            self._lane(run, index, how)
        self._rounds(run, rounds, lanes, over_s)
        return run

    def _rounds(self, run: "Run", count: int, lanes: int, over_s: int) -> None:
        wall = over_s * SECOND // count
        for index in range(count):
            begin = run.begin_ns + index * wall
            run.run.rounds.create(
                index=index, begin_ns=begin, end_ns=begin + wall, closed=True, trainers=lanes, coverage=0.98,
                gpu_waiting_share=0.3, kind_seconds=[wall / SECOND / 9] * 9, data_version=1, verdict_version=1,
            )  # fmt: skip

    def _lane(self, run: "Run", index: int, how: dict[str, Any]) -> None:
        from django.db import connection

        from ingest.models import Series

        part = run.worker(f"rank-{index}", machine=f"machine-{index // 8}")
        series = Series.objects.create(
            stream=part.stream, worker=part.worker, metric="process_memory_bytes", unit="bytes"
        )
        ids = {"worker": part.worker.pk, "stream": part.stream.pk, "series": series.pk}
        with connection.cursor() as cursor:
            for statement in (FILL, READ, HEARD):
                cursor.execute(statement, how | ids)
        part.next_number = 2 * how["count"] + how["readings"]

    def open(self, browser: Browser, run: "Run", query: str = "", *, script: str = "") -> Page:
        """The live page of a run in a browser of its own memory, signed in; `script` runs before the page's own."""
        page = self.visitor(browser)
        page.add_init_script(script)
        page.goto(self.address(run, query))
        page.wait_for_selector("#live[data-state=live]")
        return page

    def visitor(self, browser: Browser) -> Page:
        """An empty tab of somebody who is signed in."""
        from dashboard.teams import login_links

        page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
        page.goto(self.stage.url + login_links.make(self.user))
        return page

    def send(self, *batches: wire.Batch) -> None:
        """As an agent would, over HTTP."""
        from tests.e2e.training import send

        send(self.stage.url, self.stage.token, *batches)

    def address(self, run: "Run", query: str = "") -> str:
        """Where the run's live page is."""
        return f"{self.stage.url}/runs/{run.run.pk}/{query}"


@contextlib.contextmanager
def watched() -> Iterator[Watched]:
    """The product, started, and a member of its team."""
    with stage() as place:
        # Playwright keeps a loop in this thread, which Django would refuse to block.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
        from dashboard.teams.models import Membership, Role, Team, User

        user = User.objects.create(username="bench", email="bench@example.org")
        Membership.objects.create(team=Team.objects.get(), user=user, role=Role.OWNER)
        yield Watched(place, user)
