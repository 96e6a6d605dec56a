"""Ways to tell people: what each takes for an address, and what it hands on."""

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apprise
import pytest
import requests
from pytest_django import Settings

from dashboard.alerts import channels
from dashboard.alerts.channels import chat
from dashboard.alerts.channels.letter import Letter, Undelivered

CONTENT: dict[str, Any] = {
    "happened": "opened", "over": False, "page": True, "title": "slow encode on host-07", "text": "@everyone <b>x</b>",
    "alert": "0f0f",
}  # fmt: skip
GOOD = {
    "slack": "https://hooks.slack.com/services/T00000000/B00000000/abcdefABCDEF012345678901",
    "discord": "https://discord.com/api/webhooks/123456789/a-token_of-its-own",
    "msteams": "https://prod-1.westeurope.logic.azure.com:443/workflows/abcdef0123456789/triggers/manual/paths/invoke"
    "?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=a-signature",
    "pagerduty": "0123456789abcdef0123456789abcdef",
    "ntfy": "a-topic-of-ours",
    "email": "a@example.org, b@example.org",
    "webhook": "https://hooks.example.org/x",
}
HOSTS = {
    "slack": "hooks.slack.com", "discord": "discord.com", "msteams": "prod-1.westeurope.logic.azure.com",
    "pagerduty": "events.pagerduty.com", "ntfy": "ntfy.sh",
}  # fmt: skip


def letter(**more: Any) -> Letter:
    return Letter(uuid.uuid4(), CONTENT | more)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What would leave this machine for services that no test reaches: every request of apprise, answered 200."""
    seen: list[tuple[str, dict[str, Any]]] = []

    def answered(_session: Any, method: str, url: str, **more: Any) -> requests.Response:
        seen.append((url, more))
        response = requests.Response()
        response.status_code, response._content = 200, b"ok"
        return response

    monkeypatch.setattr(requests.Session, "request", answered)
    return seen


def test_every_way_takes_what_it_asks_for() -> None:
    assert set(GOOD) == set(channels.WAYS)
    for way, to in GOOD.items():
        assert channels.check(way, f" {to} ") == to


@pytest.mark.parametrize("way", sorted(GOOD))
@pytest.mark.parametrize(
    "to", ["", "slack://a/b/c", "json://10.0.0.1/", "https://hooks.slack.com.evil.example/services/T/B/x", "a@b",
           "https://evil.example/api/webhooks/1/x?y", "topic/../x?host=evil", "http://10.0.0.1:80@x/", "x\ny"],
)  # fmt: skip
def test_and_nothing_else(way: str, to: str) -> None:
    if way == "webhook" and to.startswith("https://"):
        return
    with pytest.raises(ValueError, match=r"\w"):
        channels.check(way, to)


@pytest.mark.parametrize("way", sorted(HOSTS))
def test_services_are_asked_at_their_own_hosts_once_and_without_redirects(
    way: str, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    channels.send(way, GOOD[way], "", letter())
    assert [requests.utils.urlparse(url).hostname for url, _ in sent] == [HOSTS[way]]  # type: ignore[attr-defined]
    assert sent[0][1]["allow_redirects"] is False
    assert sent[0][1]["verify"] is True
    assert "@everyone" not in str(sent[0][1])


def test_slack_is_sent_no_mark_up(sent: list[tuple[str, dict[str, Any]]]) -> None:
    channels.send("slack", GOOD["slack"], "", letter(text="<!channel> & <http://evil.example|x>"))
    assert "<!channel>" not in sent[0][1]["data"]
    assert "&lt;!channel&gt; &amp;" in sent[0][1]["data"]


@pytest.mark.parametrize(("over", "action"), [(False, "trigger"), (True, "resolve")])
def test_pagerduty_has_one_incident_for_an_alert_and_ends_it(
    over: bool, action: str, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    channels.send("pagerduty", GOOD["pagerduty"], "", letter(over=over))
    assert f'"event_action": "{action}"' in sent[0][1]["data"]
    assert '"dedup_key": "roundwatch-0f0f"' in sent[0][1]["data"]


def test_what_a_service_refuses_is_said_without_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    response = requests.Response()
    response.status_code, response._content = 404, b"no_service"
    monkeypatch.setattr(requests.Session, "request", lambda *_, **__: response)
    with pytest.raises(Undelivered, match=r"Slack did not take it: .*404") as why:
        channels.send("slack", GOOD["slack"], "", letter())
    assert "abcdefABCDEF" not in str(why.value)


def test_no_way_that_apprise_knows_is_reached_by_another_name() -> None:
    for service in chat.WAYS:
        with pytest.raises(Undelivered):
            service.send("json://127.0.0.1:1/", "", letter())
    assert apprise.Apprise.instantiate("json://127.0.0.1:1/") is not None


@contextmanager
def mail_server() -> Iterator[tuple[int, list[str]]]:
    """A mail server that takes one message, and the lines that it was told."""
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer, peer.makefile("rwb", buffering=0) as lines:
                lines.write(b"220 here\r\n")
                in_mail = False
                while line := lines.readline().decode().rstrip("\n"):
                    said.append(line.rstrip("\r"))
                    ends, begins = said[-1] == ".", said[-1].upper() == "DATA"
                    if not in_mail or ends:
                        lines.write(b"354 go on\r\n" if begins else b"250 well\r\n")
                    in_mail = begins or (in_mail and not ends)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], said
        thread.join(10)


def test_mail_is_handed_over_with_the_key_as_its_id(settings: Settings) -> None:
    told = letter(page=False)
    with mail_server() as (port, said):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "127.0.0.1", port, False
        settings.DEFAULT_FROM_EMAIL = "roundwatch@example.org"
        assert channels.send("email", GOOD["email"], "", told) == "handed to the mail server"
    assert [line for line in said if line.startswith("rcpt TO:")] == [
        "rcpt TO:<a@example.org>",
        "rcpt TO:<b@example.org>",
    ]
    assert f"Message-ID: <{told.key}@example.org>" in said
    assert "Subject: slow encode on host-07" in said


def test_without_a_mail_server_mail_is_not_said_to_be_sent(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    with pytest.raises(Undelivered, match="no mail server"):
        channels.send("email", GOOD["email"], "", letter())


def test_a_mail_server_that_is_away_is_said_to_be(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    with pytest.raises(Undelivered, match="did not take it"):
        channels.send("email", GOOD["email"], "", letter())
