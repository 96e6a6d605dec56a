"""The front door of a real server: limits, headers, origins, and JSON for every path under /api/."""

import http.client
import json
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

LIMIT = 1024 * 1024


def test_it_says_that_it_lives_and_can_work(web: str) -> None:
    assert httpx.get(f"{web}/healthz").json() == {"alive": True}
    ready = httpx.get(f"{web}/readyz", timeout=30)
    assert (ready.status_code, ready.json()) == (200, {"database": True, "redis": True})


def test_pages_may_run_and_style_only_with_our_files(web: str) -> None:
    policy = httpx.get(f"{web}/nothing-here").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["script-src"] == "'self'"
    assert "unsafe" not in policy
    assert rules["object-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"


def test_a_window_that_we_open_keeps_its_opener(web: str) -> None:
    headers = httpx.get(f"{web}/nothing-here").headers
    assert headers["cross-origin-opener-policy"] == "same-origin-allow-popups"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/nothing/", "/api/v2/runs", "/api//x",
     "/api/v1/ingest/"],
)  # fmt: skip
def test_an_unknown_path_under_api_answers_json_without_a_redirect(web: str, path: str, method: str) -> None:
    answer = httpx.request(method, web + path)
    assert answer.status_code in {404, 405}
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["message"]


def test_telemetry_is_only_posted(web: str) -> None:
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        answer = httpx.request(method, f"{web}/api/v1/ingest")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


def test_a_path_that_only_begins_like_api_is_a_page(web: str) -> None:
    assert httpx.get(f"{web}/apiary").headers["content-type"].startswith("text/html")


def test_a_form_without_its_token_is_refused_on_a_page_of_ours(web: str) -> None:
    answer = httpx.post(f"{web}/accounts/login/", data={"login": "a"})
    assert answer.status_code == 403
    assert "no longer valid" in answer.text
    assert "Roundwatch" in answer.text


def test_a_wrong_host_is_refused(web: str) -> None:
    assert httpx.get(f"{web}/healthz", headers={"Host": "evil.example"}).status_code == 400


def test_a_body_declared_too_large_is_refused_with_json(web: str) -> None:
    answer = httpx.post(f"{web}/api/v1/runs", content=b"x" * (LIMIT + 1))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


def test_a_body_of_undeclared_length_is_refused_once_too_large(web: str) -> None:
    answer = httpx.post(f"{web}/api/v1/runs", content=(b"x" * 65536 for _ in range(32)))
    assert answer.status_code == 413


def test_a_length_that_is_no_number_is_refused(web: str) -> None:
    where = urlsplit(web)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=10)
    connection.putrequest("POST", "/api/v1/runs")
    connection.putheader("Content-Length", "many")
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()


def test_pages_refuse_in_plain_text(web: str) -> None:
    answer = httpx.post(f"{web}/accounts/login/", content=b"x" * (LIMIT + 1))
    assert (answer.status_code, answer.headers["content-type"]) == (413, "text/plain; charset=utf-8")
    with pytest.raises(json.JSONDecodeError):
        answer.json()


def _socket_status(url: str, **headers: str) -> int:
    with pytest.raises(InvalidStatus) as refused, connect(url, **headers):  # type: ignore[arg-type]
        pass
    return refused.value.response.status_code


def test_an_unknown_socket_path_is_closed_not_answered_with_an_error(web: str) -> None:
    assert _socket_status(web.replace("http", "ws") + "/ws/nothing/", origin=web) == 403


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1", "http://127.0.0.1:344570",
     "http://127.0.0.1:port", "http://[::1", "http://127.0.0.1:0"],
)  # fmt: skip
def test_a_socket_from_another_origin_is_refused(web: str, origin: str | None) -> None:
    path = "/ws/runs/00000000-0000-0000-0000-000000000000/"
    assert _socket_status(web.replace("http", "ws") + path, origin=origin) == 403
