"""A real mail server on the loopback, as much of SMTP (RFC 5321) as a client needs, and the letters that it took."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any


@dataclass
class Mail:
    """`letters` are those that it took; with `refuses` it takes none."""

    port: int
    refuses: bool = False
    letters: list[EmailMessage] = field(default_factory=list)


@contextmanager
def mail_server() -> Iterator[Mail]:
    """One at a port of its own."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 ready\r\n")
            while line := self.rfile.readline():
                verb = line[:4].upper()
                if verb == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    taken.letters.append(self._letter())
                refused = verb == b"RCPT" and taken.refuses
                answers: dict[bytes, Any] = {b"QUIT": b"221 bye\r\n"}
                self.wfile.write(b"550 nobody here\r\n" if refused else answers.get(verb, b"250 ok\r\n"))
                if verb == b"QUIT":
                    return

        def _letter(self) -> EmailMessage:
            lines = []
            while (line := self.rfile.readline()) != b".\r\n":
                lines.append(line.removeprefix(b"."))
            letter = message_from_bytes(b"".join(lines), policy=policy.default)
            assert isinstance(letter, EmailMessage)
            return letter

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    taken = Mail(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield taken
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
