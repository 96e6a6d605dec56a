"""Hostile cookies, queries, headers and forms at every path of the site: none breaks the server."""

import itertools
from collections.abc import Iterator

import httpx
import pytest

from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.runs_of import make_run
from tests.dashboard.site_map import NOTHING, ways

TOKEN = "a" * 32
COOKIES = (
    'sessionid="\\000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', "sessionid=" + "a" * 5000, "sessionid=", "=;=;;",
    'sessionid="\\377\\377\\377\\377\\377\\377\\377\\377\\377"', 'messages="\\000"',
    'csrftoken="\\000"; theme="\\000<script>"',
)  # fmt: skip
QUERIES = (
    "q=%00&project=%00&state=%00&after=%00&next=%00&seen=%00", "from_ns=%00&to_ns=%00&rounds=%00&attempt=%00&start=%00",
    "after=" + "9" * 5000 + "-0", "after=99999999999999999999-" + "0" * 32, "after=-1-" + "0" * 32, "after=1-%00",
    "q=%ff%fe%ed%a0%80&project=%ff", "a=1&" * 2000, "q=" + "x" * 30_000, "%", "=&&==", "next=//elsewhere.example",
    "from_ns=4611686018427387903&to_ns=0&attempt=4611686018427387903&start=4611686018427387903&rounds=4611686018427387903",
    "attempt=2147483648&start=0&from_ns=0&to_ns=4611686018427387903",
)  # fmt: skip
HEADERS = (
    *({"Content-Type": f"a/b; charset={charset}"} for charset in ("zlib", "rot13", "idna", "utf-16", "x\xff", "")),
    {"Content-Type": "multipart/form-data"}, {"HX-Request": "true", "HX-Current-URL": "http://["},
    {"HX-Request": "true", "HX-Trigger": "\xff", "HX-Current-URL-URI-AutoEncoded": "true", "HX-Current-URL": "%ff"},
    {"If-Modified-Since": "x" * 300, "If-None-Match": "\xff", "Range": "bytes=9-1"}, {"Accept-Language": "x" * 5000},
    {"Referer": "http://[", "Origin": "http://["}, {"X-Forwarded-Proto": "x", "X-Forwarded-For": "\xff, ::"},
    {"Authorization": "Basic \xff"}, {"Authorization": "Bearer \xff"}, {"Host": "["}, {"Host": ""},
)  # fmt: skip
FIELD = b"--x\r\nContent-Disposition: form-data; name=name\r\n\r\nb\r\n--x--\r\n"
FORMS = (
    ("application/x-www-form-urlencoded", b"name=%00&scopes=%00&login=%00&password=%00&next=%00"),
    ("application/x-www-form-urlencoded", b"a=1&" * 2000), ("application/x-www-form-urlencoded", b"name=%ff&login=%ff"),
    ("application/x-www-form-urlencoded; charset=rot13", b"name=x&login=x"), ("application/json", b"[" * 100_000),
    ("multipart/form-data; boundary=x; charset=rot13", FIELD),
    ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; filename=\"../\0\"\r\n\r\n"),
    ("multipart/form-data; boundary=" + "x" * 300, b"--x"), ("multipart/form-data; boundary=\xff", b"\0"),
)  # fmt: skip


@pytest.fixture
def cast(web: str) -> Cast:
    return make_cast()


@pytest.fixture
def paths(cast: Cast) -> list[str]:
    """Every path of the site but REST's, which has a fuzzer of its own; to a run of one's own."""
    things = NOTHING | {"run_id": str(make_run(cast.team).pk)}
    return [way.to(things) for way in ways() if not way.path.startswith("/api/")]


@pytest.fixture
def browser(web: str, cast: Cast) -> Iterator[httpx.Client]:
    """A browser of the owner, whose forms carry the CSRF token."""
    cookie = f"csrftoken={TOKEN}; sessionid={browser_of(cast.owner).cookies['sessionid'].value}"
    with httpx.Client(base_url=web, headers={"Cookie": cookie, "X-CSRFToken": TOKEN}, timeout=30) as client:
        yield client


def raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers with bytes that no text of HTTP may have."""
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]


def test_no_path_breaks_under_hostile_cookies(browser: httpx.Client, paths: list[str]) -> None:
    asked = itertools.product(paths, COOKIES)
    assert [ask for ask in asked if browser.get(ask[0], headers={"Cookie": ask[1]}).status_code >= 500] == []


def test_no_path_breaks_under_hostile_queries(browser: httpx.Client, paths: list[str]) -> None:
    asked = itertools.product(paths, QUERIES)
    assert [ask for ask in asked if browser.get("?".join(ask)).status_code >= 500] == []


def test_no_path_breaks_under_hostile_headers(browser: httpx.Client, paths: list[str]) -> None:
    asked = itertools.product(paths, HEADERS)
    assert [
        ask
        for ask in asked
        if browser.get(f"{ask[0]}?q=%41&from_ns=%41&limit=%41", headers=raw(ask[1])).status_code >= 500
    ] == []


def test_no_path_breaks_under_hostile_forms(browser: httpx.Client, paths: list[str]) -> None:
    paths.remove("/accounts/logout/")  # does what it says, whatever stands in its form
    asked = itertools.product(paths, FORMS)
    assert [
        (path, kind, body[:60])
        for path, (kind, body) in asked
        if browser.post(path, content=body, headers=raw({"Content-Type": kind})).status_code >= 500
    ] == []
