"""Tells the server: one request at a time, sent again until it is answered, for a repeated one changes nothing."""

import http.client
import time
from collections.abc import Sequence

from roundwatch import identity, wire
from roundwatch.clock import Clock
from roundwatch.post import Post, Reply

PATIENCE_S = 60.0
PAUSE_S = 0.5
ADVICE = {401: "the token is not accepted", 404: "there is no Roundwatch at this address"}


class NotTakenError(Exception):
    """The server does not take it; the text says why, for people."""


class Teller:
    """A connection to one server, and its clock. Every method raises NotTakenError when the server is of no use."""

    def __init__(self, url: str, token: str, patience_s: float = PATIENCE_S) -> None:
        self._post, self._clock, self._patience_s = Post(url, token), Clock(), patience_s
        self.records = self.rejected = 0

    def meet(self) -> None:
        """Learns the server's clock, and that it takes the token."""
        self.tell([])

    def now_ns(self) -> int:
        """The server's clock now, Unix nanoseconds."""
        now = time.monotonic_ns()
        return now + self._clock.offset(now, time.time_ns())[0]

    def error_ns(self) -> int | None:
        """How far `now_ns` may be off."""
        return self._clock.offset(time.monotonic_ns(), time.time_ns())[1]

    def tell(self, batches: Sequence[wire.Batch]) -> None:
        """Sends batches, and comes back when they are stored."""
        deadline = time.monotonic() + self._patience_s
        while True:
            trouble = self._try(batches)
            if not trouble:
                return
            if time.monotonic() > deadline:
                raise NotTakenError(f"{trouble}; tried for {self._patience_s:.0f} s")
            time.sleep(PAUSE_S)

    def close(self) -> None:
        """Ends the connection."""
        self._post.close()

    def _try(self, batches: Sequence[wire.Batch]) -> str:
        """Why it did not succeed this time; empty where it did."""
        t1 = time.monotonic_ns()
        request = wire.Request(t1_ns=t1, wall_ns=time.time_ns(), machine=identity.machine(), batches=list(batches))
        try:
            reply = self._post.send(wire.encode(request))
        except (OSError, http.client.HTTPException) as error:
            return f"no answer: {error}"
        if reply.status in (408, 429, 503):
            return f"the server says {reply.status}"
        if not 200 <= reply.status < 300:
            raise NotTakenError(ADVICE.get(reply.status) or f"the server says {reply.status}: {reply.body[:200]!r}")
        self._take_in(reply, t1, batches)
        return ""

    def _take_in(self, reply: Reply, t1: int, batches: Sequence[wire.Batch]) -> None:
        try:
            answer = wire.decode_answer(reply.body)
        except ValueError as error:
            raise NotTakenError(str(error)) from error
        self._clock.learn(answer.clock, t1, answer.t2_ns, answer.t3_ns, time.monotonic_ns())
        for result in answer.results:
            if result.status != "stored":
                raise NotTakenError(f"the server has {result.status} it: {result.reason or 'the run is gone'}")
            self.rejected += result.rejected
        self.records += sum(batch.count for batch in batches)
