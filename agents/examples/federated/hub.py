"""The coordinator's side of the exchange: an HTTP server that takes deltas and gives updates."""

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

CHUNK = 16 << 10


def send_slowly(send: Callable[[bytes], object], body: bytes, bytes_per_second: float) -> None:
    """Sends a body no faster than a link of this speed would."""
    began = time.monotonic()
    for start in range(0, len(body), CHUNK):
        send(body[start : start + CHUNK])
        early = began + (start + CHUNK) / bytes_per_second - time.monotonic()
        if early > 0:
            time.sleep(early)


class Hub:
    """Who is here, what they brought and fetched; a trainer whose connection breaks is no longer here."""

    def __init__(self, door: socket.socket, *, trainers: int, bytes_per_second: float) -> None:
        self.bytes_per_second = bytes_per_second
        self._expected = trainers
        self._changed = threading.Condition()
        self._here: set[int] = set()
        self._deltas: defaultdict[int, dict[int, bytes]] = defaultdict(dict)
        self._fetched: defaultdict[int, set[int]] = defaultdict(set)
        self._updates: dict[int, bytes] = {}
        server = _Server(("", 0), type("Handler", (_Handler,), {"hub": self}), bind_and_activate=False)
        server.socket.close()
        server.socket = door
        threading.Thread(target=server.serve_forever, name="hub", daemon=True).start()

    def collect(self, number: int) -> dict[int, bytes]:
        """The deltas of a round by trainer, as soon as everyone who is here has brought one."""
        with self._changed:
            self._changed.wait_for(lambda: self._here <= self._deltas[number].keys())
            if not self._here:
                raise ConnectionError("all trainers are gone")
            return self._deltas.pop(number)

    def publish(self, number: int, update: bytes) -> None:
        """Gives the update to everyone who waits for it."""
        with self._changed:
            self._updates = {number: update}
            self._changed.notify_all()

    def wait_until_fetched(self, number: int) -> None:
        """Returns when everyone who is here has the update."""
        with self._changed:
            self._changed.wait_for(lambda: self._here <= self._fetched[number])
            del self._fetched[number]

    def wait_for_trainers(self) -> None:
        """Returns when all trainers have come."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._here) == self._expected)

    def come(self, trainer: int) -> None:
        with self._changed:
            self._here.add(trainer)
            self._changed.notify_all()

    def leave(self, trainer: int) -> None:
        with self._changed:
            self._here.discard(trainer)
            self._changed.notify_all()

    def bring(self, number: int, trainer: int, delta: bytes) -> None:
        with self._changed:
            self._deltas[number][trainer] = delta
            self._changed.notify_all()

    def update(self, number: int) -> bytes:
        """The update of a round, as soon as there is one."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._updates)
            return self._updates[number]

    def fetched(self, number: int, trainer: int) -> None:
        with self._changed:
            self._fetched[number].add(trainer)
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a connection that breaks is a trainer that leaves."""


class _Handler(BaseHTTPRequestHandler):
    """GET /here, PUT /delta, GET /update: each names its trainer and its round in the query."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, trainer, number = self._asked()
        if path == "/here":
            self.hub.come(trainer)
            self.hub.wait_for_trainers()
            try:
                self._answer(b"")
                self.rfile.read(1)  # returns when the connection ends
            finally:
                self.hub.leave(trainer)
        else:
            self._answer(self.hub.update(number))
            self.hub.fetched(number, trainer)

    def do_PUT(self) -> None:
        _, trainer, number = self._asked()
        self.hub.bring(number, trainer, self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(b"")

    def _asked(self) -> tuple[str, int, int]:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        return url.path, int(query["trainer"]), int(query.get("round", 0))

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        send_slowly(self.wfile.write, body, self.hub.bytes_per_second)

    def log_message(self, *_: object) -> None:
        """Nothing: a line for every request would hide the training's own."""
