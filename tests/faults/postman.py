"""A proxy that knows where an HTTP request ends: it loses answers, sends requests twice, or late and out of order."""

import random
import socket
import threading
import time
from collections import deque
from contextlib import suppress

from tests.faults.proxy import CHUNK, Proxy, abort

KEPT = 30
LATE_S = 1.5
ANSWER_S = 30.0


class Postman(Proxy):
    """`habit` says what happens to a share of requests:

    "pass", "lose" (the server gets it, the client a reset), "replay" (one of the last 30 is sent again after it),
    "late" (the client gets a reset, the server the request 1.5 s later, after younger ones), "refuse" (a reset before
    the server gets anything).
    """

    def __init__(self, target_port: int, *, seed: int = 0, share: float = 0.5) -> None:
        self.habit = "pass"
        self.harmed = 0
        self.underway = 0  # requests that are late
        self._share = share
        self._random = random.Random(seed)  # noqa: S311 - drawn from a seed
        self._sent: deque[bytes] = deque(maxlen=KEPT)
        super().__init__(target_port)

    def heal(self) -> None:
        self.habit = "pass"
        super().heal()

    def _serve(self, near: socket.socket) -> None:
        self._know(near)
        far = self._connect()
        if far is not None:
            self._know(far)
            with suppress(OSError, ValueError):
                while (request := message(near)) and self._carry(request, near, far):
                    pass
            self._forget(far)
        self._forget(near)

    def _carry(self, request: bytes, near: socket.socket, far: socket.socket) -> bool:
        """Carries one request; False where the connection is over."""
        self._sent.append(request)
        habit = self.habit if self._random.random() < self._share else "pass"
        self.harmed += habit != "pass"
        if habit in {"late", "refuse"}:
            if habit == "late":
                self._count(+1)
                threading.Thread(target=self._send_late, args=(request,), daemon=True).start()
            abort(near)
            return False
        self._pass(request, far)
        answer = message(far)
        if habit == "lose" or not answer:
            abort(near)
            return False
        if habit == "replay":
            self._send_again(self._random.choice(self._sent))
        self._pass(answer, near)
        return True

    def _send_late(self, request: bytes) -> None:
        time.sleep(LATE_S)  # this is the fault itself, nobody waits for it
        self._send_again(request)
        self._count(-1)

    def _count(self, by: int) -> None:
        with self._lock:
            self.underway += by

    def _send_again(self, request: bytes) -> None:
        far = self._connect()
        if far is not None:
            with far, suppress(OSError, ValueError):
                far.settimeout(ANSWER_S)
                far.sendall(request)
                message(far)


def message(end: socket.socket) -> bytes:
    """One HTTP message with a Content-Length, as bytes; empty at the end. Raises OSError, ValueError."""
    data = b""
    while (head := data.find(b"\r\n\r\n")) < 0:
        more = end.recv(CHUNK)
        if not more:
            return b""
        data += more
    lengths = [
        int(line.split(b":")[1])
        for line in data[:head].split(b"\r\n")[1:]
        if line.lower().startswith(b"content-length:")
    ]
    size = head + 4 + (lengths[0] if lengths else 0)
    while len(data) < size:
        more = end.recv(CHUNK)
        if not more:
            return b""
        data += more
    return data
