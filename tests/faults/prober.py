"""A writer on the wire itself: one small batch after the other, and when each was acknowledged."""

import http.client
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from roundwatch import wire
from tests.ingest.batches import SECOND, Recorder, request

PAUSE_S = 0.05
PATIENCE_S = 5.0
# Well before now, whichever way the server's clock jumps.
AGO_NS = 3 * 3600 * SECOND


class Prober:
    """Sends until stopped; a batch that was not answered 2xx is sent again as it was. `acknowledged` counts batches."""

    def __init__(self, url: str, token: str) -> None:
        self._netloc = urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"}
        self._recorder = Recorder("probe", run="probe", began_ns=time.time_ns() - AGO_NS, project="faults").begin()
        self._answered: list[tuple[float, float]] = []  # when sent, when acknowledged
        self._stop = threading.Event()
        self.statuses: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def acknowledged(self) -> int:
        return len(self._answered)

    @property
    def stream(self) -> str:
        return self._recorder.stream

    def first_after(self, moment: float, within_s: float = 60.0) -> float:
        """When the first batch that was sent after the moment was acknowledged (time.monotonic)."""
        while True:
            for sent, answered in self._answered[-400:]:
                if sent > moment:
                    return answered
            assert time.monotonic() < moment + within_s, f"nothing is acknowledged for {within_s} s: {self.statuses}"
            time.sleep(0.01)

    def close(self) -> None:
        self._stop.set()
        self._thread.join(2 * PATIENCE_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            now = time.time_ns() - AGO_NS
            self._recorder.phase("train", now - SECOND // 100, now, i=len(self._answered))
            body = wire.encode(request(self._recorder.batch()))
            while not self._stop.is_set() and not self._send(body):
                self._stop.wait(PAUSE_S)
            self._stop.wait(2 * PAUSE_S)

    def _send(self, body: bytes) -> bool:
        began = time.monotonic()
        connection = http.client.HTTPConnection(self._netloc, timeout=PATIENCE_S)
        status = "no answer"
        with suppress(OSError, http.client.HTTPException):
            connection.request("POST", wire.PATH, body, self._headers)
            answer = connection.getresponse()
            answer.read()
            status = str(answer.status)
            if answer.status == 200:
                self._answered.append((began, time.monotonic()))
        connection.close()
        self.statuses[status] = self.statuses.get(status, 0) + 1
        return status == "200"
