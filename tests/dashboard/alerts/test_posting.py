"""What is sent to an address that somebody wrote: only to public ones, only to the one that was checked."""

import hashlib
import hmac
import ipaddress
import json
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pytest_django import Settings

from dashboard.alerts.channels import WAYS, webhook
from dashboard.alerts.channels.addresses import allowed
from dashboard.alerts.channels.letter import Letter, Undelivered
from dashboard.alerts.channels.posting import MOST_BYTES, post
from tests.dashboard.alerts.receivers import LOOPBACK, receiving

CONTENT = {"happened": "opened", "over": False, "page": True, "title": "slow", "text": "host-07", "alert": None}
PRIVATE = [
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.1", "100.64.0.1", "198.18.0.1",
    "224.0.0.1", "255.255.255.255", "192.88.99.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1",
    "::ffff:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "fec0::1", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not allowed(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_what_is_public_is_not(address: str) -> None:
    assert allowed(ipaddress.ip_address(address))


def test_an_operators_network_is_let_in_and_no_other() -> None:
    networks = (ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::/8"))
    let_in = [each for each in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "10.2.0.1", "127.0.0.1", "::1")
              if allowed(ipaddress.ip_address(each), networks)]  # fmt: skip
    assert let_in == ["10.1.2.3", "::ffff:10.1.2.3", "fd00::1"]


def test_nothing_is_let_in_unless_an_operator_says_so(settings: Settings) -> None:
    assert settings.WEBHOOK_NETWORKS == ()
    with receiving() as receiver, pytest.raises(Undelivered, match=r"Refused: 127\.0\.0\.1 .*not on the public"):
        WAYS["webhook"].send(receiver.url, "s", Letter(uuid.uuid4(), CONTENT))
    assert receiver.got == []


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:7f00:1]"])
def test_however_this_machine_is_spelled_it_is_refused(host: str) -> None:
    with receiving() as receiver, pytest.raises(Undelivered, match=r"^Refused: "):
        post(f"http://{host}:{receiver.port}/", b"{}", {})
    assert receiver.got == []


def test_a_webhook_is_signed_and_bears_its_key(settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = LOOPBACK
    letter = Letter(uuid.uuid4(), CONTENT)
    with receiving() as receiver:
        said = WAYS["webhook"].send(f"{receiver.url}/hook?team=1", "secret", letter)
    assert said == "200 OK"
    headers, body = receiver.got[0]
    assert headers["Idempotency-Key"] == str(letter.key)
    at, mac = (part.partition("=")[2] for part in headers["Roundwatch-Signature"].split(","))
    assert mac == hmac.new(b"secret", at.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert json.loads(body) == {"id": str(letter.key), **CONTENT}
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"


def test_a_redirect_is_not_followed_and_said_to_be_one() -> None:
    with receiving() as inside, receiving("127.0.0.2") as outside:
        outside.answer = lambda: (302, {"Location": inside.url})
        networks = (ipaddress.ip_network("127.0.0.2/32"),)
        with pytest.raises(Undelivered, match="302 .*redirect, which is not followed"):
            post(outside.url, b"{}", {}, networks=networks)
    assert len(outside.got) == 1
    assert inside.got == []


def test_a_name_that_changes_its_address_is_sent_to_the_one_that_was_checked() -> None:
    answers = iter(["127.0.0.2", "127.0.0.1", "127.0.0.1"])
    networks = (ipaddress.ip_network("127.0.0.2/32"),)
    with receiving("127.0.0.2") as outside, receiving("127.0.0.1", outside.port) as inside:
        url = f"http://hooks.example.org:{outside.port}/"
        post(url, b"{}", {}, networks=networks, resolver=lambda _host, _port: [next(answers)])
        assert [headers["Host"] for headers, _ in outside.got] == [f"hooks.example.org:{outside.port}"]
        with pytest.raises(Undelivered, match=r"Refused: hooks\.example\.org is 127\.0\.0\.1"):
            post(url, b"{}", {}, networks=networks, resolver=lambda _host, _port: [next(answers)])
    assert inside.got == []
    assert len(outside.got) == 1


def test_one_private_address_among_others_refuses_the_name() -> None:
    with pytest.raises(Undelivered, match=r"is 10\.0\.0\.1"):
        post("http://hooks.example.org/", b"{}", {}, resolver=lambda _host, _port: ["8.8.8.8", "10.0.0.1"])


@pytest.mark.parametrize("status", [400, 404, 410, 429, 500, 503])
def test_any_other_answer_is_no_delivery(status: int) -> None:
    with receiving() as receiver:
        receiver.answer = lambda: (status, {})
        with pytest.raises(Undelivered, match=f"It answered {status}"):
            post(receiver.url, b"{}", {}, networks=LOOPBACK)


@contextmanager
def talking(says: bytes, *, for_ever: bool) -> Iterator[int]:
    """A receiver that says `says`, or that over and over again, whatever it is asked."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            peer, _ = server.accept()
            with peer:
                try:
                    while not over.wait(0.01):
                        peer.sendall(says)
                        if not for_ever:
                            over.wait(30)
                except OSError:
                    pass

        thread = threading.Thread(target=talk)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join(10)


@pytest.mark.parametrize(
    ("says", "for_ever"),
    [(b"", False), (b"H", True)],
    ids=["silence", "a byte at a time"],
)
def test_who_never_ends_is_left_in_time(says: bytes, for_ever: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.alerts.channels.posting.WITHIN_S", 0.5)
    with talking(says, for_ever=for_ever) as port, pytest.raises(Undelivered):
        post(f"http://127.0.0.1:{port}/", b"{}", {}, networks=LOOPBACK)


@pytest.mark.parametrize(
    "says",
    [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"],
    ids=["a body without an end", "less of a body than was promised"],
)
def test_who_said_yes_is_not_waited_for_any_longer(says: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.alerts.channels.posting.WITHIN_S", 2.0)
    with talking(says, for_ever=False) as port:
        assert post(f"http://127.0.0.1:{port}/", b"{}", {}, networks=LOOPBACK) == "200 OK"


def test_no_more_is_read_than_a_limit() -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 4 * MOST_BYTES
    with talking(body, for_ever=False) as port:
        assert post(f"http://127.0.0.1:{port}/", b"{}", {}, networks=LOOPBACK) == "200 OK"
    with pytest.raises(Undelivered, match="64 KiB"):
        post("http://127.0.0.1:1/", b"x" * (MOST_BYTES + 1), {}, networks=LOOPBACK)


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    """TLS is checked against the name, not against the address that is connected to."""
    with receiving() as receiver, pytest.raises(Undelivered, match="Not sent: "):
        post(f"https://hooks.example.org:{receiver.port}/", b"{}", {}, networks=LOOPBACK,
             resolver=lambda _host, _port: ["127.0.0.1"])  # fmt: skip
    assert ssl.create_default_context().check_hostname


@pytest.mark.parametrize(
    "to", ["", "ftp://example.org/", "http://", "example.org", "http://a b/", "http://u:p@example.org/", "http://[::1",
           "http://example.org:99999/", "http://ex\u200bample.org/", "http://example.org/\r\nHost: x", "file:///etc/passwd",
           "http://" + "a" * 2000],
)  # fmt: skip
def test_what_is_no_address_is_not_taken(to: str) -> None:
    with pytest.raises(ValueError, match=r"address"):
        webhook.check(to)
