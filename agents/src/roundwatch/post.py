"""One kept-alive connection to the server, over which bodies are posted."""

import http.client
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from roundwatch import wire

TIMEOUT_S = 20.0
MAX_ANSWER_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `retry_after` is that header's text, "" where there was none."""

    status: int
    body: bytes
    retry_after: str = ""


class Post:
    """Raises OSError or http.client.HTTPException where no answer came; then the next call connects anew."""

    def __init__(self, url: str, token: str, timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/") + wire.PATH
        self._token = token
        self._head = b""
        self._timeout_s = timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def send(self, body: bytes) -> Reply:
        """Posts a body and reads the answer. A kept connection that the server has closed meanwhile is opened again."""
        kept = self._connection is not None
        try:
            return self._exchange(body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if not kept:
                raise
            return self._exchange(body)

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, body: bytes) -> Reply:
        connection = self._connection = self._connection or self._connect()
        try:
            if connection.sock is None:
                connection.connect()
            # Head and body in one packet, and no head made anew: five times a second that is a tenth of the sender.
            self._head = self._head or self._headed()
            connection.sock.sendall(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
            response = http.client.HTTPResponse(connection.sock, method="POST")
            response.begin()
            answer = response.read(MAX_ANSWER_BYTES)
        except BaseException:
            self.close()
            raise
        if response.will_close or not response.isclosed():
            response.close()
            self.close()
        return Reply(response.status, answer, response.getheader("Retry-After", ""))

    def _headed(self) -> bytes:
        """All of a request before its length. Raises ValueError where address or token hold what no header may."""
        host = self._host if self._host.isascii() else self._host.encode("idna").decode()
        host = f"[{host}]" if ":" in host else host
        lines = (
            f"POST {self._path} HTTP/1.1",
            f"Host: {host}" if self._port is None else f"Host: {host}:{self._port}",
            "Accept-Encoding: identity",
            f"Authorization: Bearer {self._token}",
            "Content-Type: application/json",
            "Content-Encoding: gzip",
            "User-Agent: roundwatch-agent",
        )
        if " " in self._path or not all(line.isprintable() for line in lines):
            raise ValueError("the address or the token holds a character that cannot be sent")
        return "\r\n".join((*lines, "Content-Length: ")).encode("latin-1")

    def _connect(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
