"""Many who ask for large pictures at once stand in line; nobody who asks for something else waits for a connection."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.live.stage import Stage
from tests.serving import serving

CROWD = 24


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


@pytest.mark.parametrize("path", ["snapshot", "heat?phase=encode"])
def test_a_crowd_leaves_connections_to_others(people: Cast, tmp_path: Path, path: str) -> None:
    stage = Stage(people.team)
    part = stage.worker("trainer-0")
    stage.store(part, stage.spans(part, 20_000, name="encode", round=0))
    stage.round(0, closed=True, end_ns=stage.begin_ns + 10**9)
    cookie = {"cookie": f"sessionid={browser_of(people.viewer).cookies['sessionid'].value}"}
    # The pool has as many connections as threads read of it, and two.
    with serving(tmp_path / "web.log", ROUNDWATCH_DATABASE_CONNECTIONS="8") as url, ThreadPoolExecutor(CROWD) as crowd:

        def ask(_: int) -> int:
            return httpx.get(f"{url}/runs/{stage.run.pk}/live/{path}", headers=cookie, timeout=60).status_code

        asked = [crowd.submit(ask, number) for number in range(CROWD * 3)]
        others = [httpx.get(f"{url}/readyz", timeout=60).status_code for _ in range(10)]
        assert {one.result() for one in asked} == {200}
        assert set(others) == {200}
