"""One POST to an address that somebody wrote: to the address that was checked, without redirects, within limits."""

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

from dashboard.alerts.channels import addresses
from dashboard.alerts.channels.addresses import Network, Resolver, checked
from dashboard.alerts.channels.letter import Undelivered

WITHIN_S = 5.0
MOST_BYTES = 64 * 1024


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    networks: Sequence[Network] = (),
    resolver: Resolver | None = None,
) -> str:
    """Send it and return what was answered in a few words.

    Raises Undelivered for any answer but 2xx, for a refused address, and after WITHIN_S seconds in all.
    """
    deadline = time.monotonic() + WITHIN_S
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)
    if len(body) > MOST_BYTES:
        raise Undelivered(f"The message has more than {MOST_BYTES // 1024} KiB.")
    address = checked(host, port, resolver or addresses.resolve, networks, WITHIN_S)
    connection = http.client.HTTPConnection(host, port, timeout=WITHIN_S)
    try:
        connection.sock = _connected(address, port, deadline)
        with _cut_at(connection.sock, deadline):
            if parts.scheme == "https":
                connection.sock = ssl.create_default_context().wrap_socket(connection.sock, server_hostname=host)
            connection.request("POST", _target(parts), body, {"Host": parts.netloc, **headers})
            return _answered(connection.getresponse())
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= deadline:
            raise Undelivered(f"No answer within {WITHIN_S:.0f} s.") from None
        raise Undelivered(f"Not sent: {_why(error)}.") from None
    finally:
        connection.close()


def _connected(address: str, port: int, deadline: float) -> socket.socket:
    return socket.create_connection((address, port), timeout=max(0.1, deadline - time.monotonic()))


@contextlib.contextmanager
def _cut_at(sock: socket.socket, deadline: float) -> Iterator[None]:
    """A socket's own limit begins anew with each byte that comes; this one does not."""
    raw = sock.dup()
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), _shut, [raw])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        raw.close()


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _answered(answer: http.client.HTTPResponse) -> str:
    # The status decides: whoever said yes has it, however the rest of the answer ends.
    with contextlib.suppress(OSError, http.client.HTTPException):
        answer.read(MOST_BYTES)
    said = f"{answer.status} {''.join(c for c in answer.reason if c.isprintable())[:80]}".strip()
    if 300 <= answer.status < 400:
        raise Undelivered(f"It answered {said}, a redirect, which is not followed.")
    if not 200 <= answer.status < 300:
        raise Undelivered(f"It answered {said}.")
    return said


def _why(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")[:200]
