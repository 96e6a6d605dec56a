"""A trainer's side of the exchange: its HTTP connections to the coordinator."""

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse

from federated.hub import send_slowly


@dataclass(frozen=True, slots=True)
class Update:
    """An update whose first byte has come: `nbytes` long, still to be read."""

    response: HTTPResponse
    nbytes: int

    def read(self) -> bytes:
        return self.response.read()


class Link:
    """Brings deltas and fetches updates; raises ConnectionError when the coordinator is gone."""

    def __init__(self, port: int, *, trainer: int, bytes_per_second: float) -> None:
        self._trainer = trainer
        self._bytes_per_second = bytes_per_second
        self._presence = HTTPConnection("127.0.0.1", port)
        self._data = HTTPConnection("127.0.0.1", port)

    def join(self) -> None:
        """Says that this trainer is here, until this connection breaks; returns when all are."""
        self._presence.request("GET", f"/here?trainer={self._trainer}")
        self._presence.getresponse().read()

    def upload(self, number: int, delta: bytes) -> None:
        """Brings the delta of a round."""
        self._data.putrequest("PUT", f"/delta?trainer={self._trainer}&round={number}")
        self._data.putheader("Content-Length", str(len(delta)))
        self._data.endheaders()
        send_slowly(self._data.send, delta, self._bytes_per_second)
        self._data.getresponse().read()

    def wait_for_update(self, number: int) -> Update:
        """The update of a round, as soon as the coordinator begins to send it."""
        self._data.request("GET", f"/update?trainer={self._trainer}&round={number}")
        response = self._data.getresponse()
        return Update(response, int(response.headers["Content-Length"]))
