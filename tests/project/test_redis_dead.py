"""Nothing answers where Redis should be: people still sign in by password, and guessing is still limited."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.cast import PASSWORD, Cast, make_cast
from tests.serving import serving

Browser = Callable[[], httpx.Client]


@pytest.fixture(scope="module")
def bereft(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without Redis."""
    log = tmp_path_factory.mktemp("web") / "web.log"
    with serving(log, ready="/healthz", REDIS_URL="redis://127.0.0.1:1") as url:
        yield url


@pytest.fixture
def people(quiet: None) -> Cast:
    return make_cast()


@pytest.fixture
def browser(bereft: str) -> Iterator[Browser]:
    """Opens browsers of people who are not signed in."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(httpx.Client(base_url=bereft, timeout=20))


def sign_in(client: httpx.Client, login: str, password: str) -> httpx.Response:
    form = client.get("/accounts/login/").text
    secret = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[0]
    return client.post("/accounts/login/", data={"login": login, "password": password, "csrfmiddlewaretoken": secret})


def test_a_password_signs_in_and_the_runs_are_shown(people: Cast, browser: Browser) -> None:
    client = browser()
    assert client.get("/readyz").json() == {"database": True, "redis": False}
    answer = sign_in(client, "olga", PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (302, "/")
    assert client.get("/").status_code == 200


def test_somebody_who_guesses_is_stopped_and_others_are_not(people: Cast, browser: Browser) -> None:
    guesser = browser()
    for _ in range(5):
        assert "not correct" in sign_in(guesser, "mika", "a guess").text
    answer = sign_in(guesser, "mika", PASSWORD)
    assert answer.status_code == 200
    assert "Too many failed login attempts" in answer.text
    assert sign_in(browser(), "vera", PASSWORD).status_code == 302
