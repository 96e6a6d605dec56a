"""Real HTTP receivers on addresses of this machine, and what they were sent."""

import http.server
import ipaddress
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


@dataclass
class Receiver:
    """`answer` decides status and headers of the next answer; `got` is what came, as headers and body."""

    url: str
    port: int
    answer: Callable[[], tuple[int, dict[str, str]]] = lambda: (200, {})
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def receiving(host: str = "127.0.0.1", port: int = 0) -> Iterator[Receiver]:
    """A receiver at `host`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append((dict(self.headers), body))
            status, headers = receiver.answer()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the name that its base asks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer((host, port), Handler)
    receiver = Receiver(f"http://{host}:{server.server_port}", server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
