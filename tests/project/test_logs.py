"""Log lines: JSON where asked for, with the request or task that they are about; ids from outside only if sane."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dashboard.project.logs import Json, Text, logging_of
from dashboard.project.request_ids import current
from roundwatch import wire
from tests.serving import REPOSITORY, serving

GIVEN = "proxy-7.a_B"


def record(message: str, *values: object, name: str = "ingest.tasks", **more: object) -> logging.LogRecord:
    made = logging.LogRecord(name, logging.WARNING, __file__, 1, message, values, None)
    made.__dict__.update(more)
    return made


@pytest.fixture
def request_7() -> Iterator[None]:
    token = current.set("request-7")
    yield
    current.reset(token)


def test_a_json_line_is_one_line_whatever_it_says() -> None:
    line = Json().format(record("a\n%s\u2028", '"quoted"\r\n{'))
    assert "\n" not in line
    assert "\u2028" not in line
    told = json.loads(line)
    assert told["message"] == 'a\n"quoted"\r\n{\u2028'
    assert (told["level"], told["logger"], told["request_id"], told["task_id"]) == (
        "WARNING", "ingest.tasks", None, None,
    )  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", told["time"])


@pytest.mark.usefixtures("request_7")
def test_both_forms_say_the_request() -> None:
    assert json.loads(Json().format(record("x")))["request_id"] == "request-7"
    assert Text("%(name)s:%(about)s %(message)s").format(record("x")) == "ingest.tasks: [request-7] x"


def test_a_line_about_nothing_has_no_brackets() -> None:
    assert Text("%(name)s:%(about)s %(message)s").format(record("x")) == "ingest.tasks: x"


def test_an_exception_is_told_within_its_line() -> None:
    try:
        int("broken")
    except ValueError:
        made = record("failed", exc_info=sys.exc_info())
    told = json.loads(Json().format(made))
    assert told["exception"].endswith("ValueError: invalid literal for int() with base 10: 'broken'")


def test_what_celery_says_about_a_task_names_it() -> None:
    made = record("Task succeeded", name="celery.app.trace", data={"id": "task-9"})
    assert json.loads(Json().format(made))["task_id"] == "task-9"
    assert json.loads(Json().format(record("x", data={"id": "not celery's"})))["task_id"] is None


def test_a_line_within_a_task_names_it() -> None:
    from dashboard.project.celery import app

    @app.task
    def tells() -> str:
        return str(json.loads(Json().format(record("x")))["task_id"])

    assert tells.apply(task_id="task-3").get() == "task-3"
    del app.tasks[tells.name]


def test_both_forms_are_what_logging_takes() -> None:
    from logging import config

    for form in ("text", "json"):
        made = logging_of(form, "INFO") | {"root": {"level": "INFO"}, "incremental": False}
        config.DictConfigurator(made).configure_formatter(made["formatters"]["line"])  # type: ignore[index]


def answers(url: str, **headers: str) -> str:
    return httpx.get(f"{url}/healthz", headers=headers).headers["x-request-id"]


def test_an_answer_says_the_id_that_its_request_came_with(web: str) -> None:
    assert answers(web, **{"X-Request-ID": GIVEN}) == GIVEN
    assert httpx.get(f"{web}/nothing-here", headers={"X-Request-ID": GIVEN}).headers["x-request-id"] == GIVEN
    refused = httpx.post(web + wire.PATH, headers={"X-Request-ID": GIVEN})
    assert (refused.status_code, refused.headers["x-request-id"]) == (401, GIVEN)


@pytest.mark.parametrize(
    "given", ["", "a" * 65, "a b", "<b>", "ä".encode().decode("latin-1"), "-x", "a\tb", '"', "a;b"]
)
def test_an_id_that_is_not_sane_is_replaced(web: str, given: str) -> None:
    said = httpx.get(f"{web}/healthz", headers={"X-Request-ID": given.encode("latin-1")}).headers["x-request-id"]  # type: ignore[dict-item]
    assert re.fullmatch(r"[0-9a-f]{16}", said)


def test_without_an_id_or_with_several_each_request_gets_a_new_one(web: str) -> None:
    twice = httpx.get(f"{web}/healthz", headers=[("X-Request-ID", "a"), ("X-Request-ID", "b")])
    said = {answers(web), answers(web), twice.headers["x-request-id"]}
    assert len(said) == 3
    assert all(re.fullmatch(r"[0-9a-f]{16}", one) for one in said)


@pytest.mark.django_db(transaction=True)
def test_a_server_logs_json_lines_that_name_the_request(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    with serving(log, ROUNDWATCH_LOG="json") as url:
        httpx.get(f"{url}/nothing-here", headers={"X-Request-ID": GIVEN})
        httpx.get(f"{url}/healthz", headers={"Host": "evil.example"})
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"Not Found: /nothing-here"} <= {line["message"] for line in lines if line["request_id"] == GIVEN}
    assert [line for line in lines if line["logger"] == "uvicorn.error" and line["request_id"] is None]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ROUNDWATCH_LOG", "xml", "ROUNDWATCH_LOG must be text or json, not 'xml'."),
        ("ROUNDWATCH_LOG_LEVEL", "LOUD", "ROUNDWATCH_LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL, not"),
        ("REDIS_URL", "http://:secret@cache", "REDIS_URL must be a redis://, rediss:// or unix:// URL."),
        ("ROUNDWATCH_HOSTS", "https://a.example", "ROUNDWATCH_HOSTS must hold names such as watch.example.org"),
        ("ROUNDWATCH_SMTP_PORT", "70000", "ROUNDWATCH_SMTP_PORT must be at most 65535, not 70000."),
    ],
)
def test_a_bad_setting_ends_a_command_with_one_sentence(tmp_path: Path, name: str, value: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=REPOSITORY, capture_output=True, text=True, check=False,
        env={**os.environ, "ROUNDWATCH_DATA": str(tmp_path), name: value},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(says)
    assert len(done.stderr.splitlines()) == 1
    assert "secret@" not in done.stderr
