"""From an agent's request to a browser: what is posted is seen, and only what is stored."""

import httpx
import pytest
from django.utils import timezone

from dashboard.teams import tokens
from ingest.feed.messages import unix_ns
from ingest.models import Phase, Run, Stream
from roundwatch import wire
from tests.cast import Cast, make_cast
from tests.dashboard.live.watcher import Watcher, act, until
from tests.ingest.batches import SECOND, Recorder, request


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


def stored(run: Run) -> set[tuple[int, int]]:
    attempts = dict(Stream.objects.filter(run=run).values_list("pk", "index"))
    phases = Phase.objects.filter(run_id=run.pk).values_list("stream_id", "start_number")
    return {(attempts[stream], start) for stream, start in phases}


async def test_what_agents_post_is_what_a_browser_shows(web: str, people: Cast) -> None:
    token = await act(tokens.issue, people.team, "agents", ["ingest"])
    begin = (unix_ns(timezone.now()) or 0) - 60 * SECOND
    agents = [Recorder(f"trainer-{rank}", began_ns=begin, rank=rank) for rank in range(3)]
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    async with httpx.AsyncClient(headers=headers, timeout=30) as client:

        async def post(*batches: wire.Batch) -> None:
            answer = await client.post(f"{web}{wire.PATH}", content=wire.encode(request(*batches)))
            assert answer.status_code == 200, answer.text

        await post(*(agent.begin(rounds=3).begin_round(0, begin).batch() for agent in agents))
        run = await act(Run.objects.get)
        async with await act(Watcher, web, people.owner, run.pk) as watcher:
            await until(lambda: {lane["name"] for lane in watcher.meta["lanes"].values()} == {a.worker for a in agents})
            opened = agents[0].open("encode", begin + SECOND, round=0)
            await post(agents[0].batch())
            await until(lambda: opened in watcher.open.get(0, set()))
            for second in range(2, 12):
                for agent in agents:
                    agent.phase("train", begin + second * SECOND, begin + (second + 1) * SECOND, round=0)
                    agent.sample("memory.anon", 1e9 + second, begin + second * SECOND, unit="B")
                await post(*(agent.batch() for agent in agents))
            await post(agents[0].close(opened, begin + 12 * SECOND).batch())
            await post(
                *(
                    agent.end_round(0, begin + 13 * SECOND).begin_round(1, begin + 13 * SECOND).batch()
                    for agent in agents
                )
            )
            everything = await act(stored, run)
            assert len(everything) == 31
            await until(lambda: set(watcher.spans) == everything)
            await until(lambda: watcher.open.get(0) == set())
            await until(lambda: len(watcher.samples) == 30)
            await until(lambda: bool(watcher.steps.get((0, 0), {}).get("flags", 0) & 1))
