"""Nothing of a refused request stays in memory: a flood of them would fill it."""

import gc
import gzip
import importlib
import pkgutil
from collections.abc import Callable, Iterator

import httpx
import pytest

import ingest
from dashboard.teams.tokens import issue
from ingest.store.arrivals import Fault
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)


def faults() -> list[Fault]:
    """All that are alive; earlier tests may have kept some."""
    return [each for each in gc.get_objects() if type(each) is Fault]  # isinstance would ask proxies


@pytest.fixture
def kept() -> Iterator[Callable[[], int]]:
    """How many faults are alive that were not before, while no cycle is looked for."""
    gc.collect()
    before = faults()
    gc.disable()
    yield lambda: len(faults()) - len(before)
    gc.enable()


def test_no_refusal_is_made_once_and_raised_again_and_again() -> None:
    names = [module.name for module in pkgutil.walk_packages(ingest.__path__, "ingest.")]
    modules = [importlib.import_module(name) for name in names if ".migrations" not in name]
    assert "ingest.api.room" in names
    shared = [f"{each.__name__}.{name}" for each in modules for name, it in vars(each).items() if isinstance(it, Fault)]
    assert not shared


@pytest.mark.parametrize("body", [b"[" * 4_000_000, b"{" * 100_000, b"nonsense"], ids=["deep", "many", "nonsense"])
def test_a_refused_body_is_let_go_at_once(cast: Cast, kept: Callable[[], int], body: bytes) -> None:
    token = issue(cast.team, "agent", ["ingest"])
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    with serving() as (url, _), httpx.Client(timeout=20) as client:
        for _ in range(5):
            answer = client.post(url + wire.PATH, content=gzip.compress(body, 1), headers=headers)
            assert answer.status_code in {413, 422}
    assert kept() == 0


def test_a_body_refused_by_its_length_is_let_go_at_once(cast: Cast, kept: Callable[[], int]) -> None:
    token = issue(cast.team, "agent", ["ingest"])
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
    with serving() as (url, _), httpx.Client(timeout=20) as client:
        for _ in range(3):
            answer = client.post(url + wire.PATH, content=bytes(wire.MAX_COMPRESSED_BYTES + 1), headers=headers)
            assert answer.status_code == 413
    assert kept() == 0
