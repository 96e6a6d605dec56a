"""The door for agents, a raw ASGI application: at thousands of batches a second a framework would be most work."""

import asyncio
import hashlib
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope

from ingest.api import auth
from ingest.api.answers import send_answer, send_fault
from ingest.api.auth import TokenInfo
from ingest.api.gate import MOST_READING, Gate
from ingest.api.lookups import Lookups
from ingest.api.outage import LOOK_EVERY_S, Outage, down
from ingest.api.reading import Body, GoneError
from ingest.api.tellers import Tellers
from ingest.api.waiting import MAX_WAITING, Ticket
from ingest.api.writers import THREADS, Writers
from ingest.store.arrivals import Fault
from ingest.store.telemetry import Outcome
from roundwatch import wire

# Whoever is sent away and comes back at once waits this long for the answer: its loop shall not keep the server busy.
_HELD_BACK_S = 0.25


def clock_name() -> str:
    """The name of this server's clock: the same for all its processes, another after a boot."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    text = boot.read_bytes() if boot.exists() else str(time.time_ns()).encode()
    return "server-" + hashlib.sha256(text).hexdigest()[:16]


class Door:
    """POST /api/v1/ingest: authenticate, read, queue, and answer when it is committed."""

    def __init__(
        self,
        *,
        threads: int = THREADS,
        most_waiting: int = MAX_WAITING,
        most_reading: int = MOST_READING,
        seconds: float = wire.MAX_BODY_SECONDS,
    ) -> None:
        """Prepare: `threads` write, `most_waiting` requests wait, `most_reading` are read, each for `seconds`."""
        self._outage = Outage()
        self._tellers = Tellers()
        self._writers = Writers(self._tellers, self._outage, threads=threads, most=most_waiting)
        self._lookups = Lookups(self._outage)
        self._seconds = seconds
        self._gate = Gate(most_reading)
        self._clock = clock_name()

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise ValueError(f"not for {scope['type']}")
        body = Body(receive)
        try:
            answer = await self._serve(scope, body)
        except GoneError:
            return
        except Fault as fault:
            await self._refuse(fault, body, send)
        else:
            await send_answer(send, answer)

    def close(self) -> None:
        """Finish what was taken in, then end all threads."""
        self._writers.close()
        self._tellers.close()
        self._lookups.close()

    async def _serve(self, scope: HTTPScope, body: Body) -> wire.Answer:
        arrived_ns = time.time_ns()
        if scope["method"] != "POST":
            raise Fault(405, "method", "Telemetry is sent by POST.")
        headers = dict(scope["headers"])
        token = await self._authenticate(headers.get(b"authorization", b"").decode("latin-1"))
        content = await self._read(token.team_id, body, headers)
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        ticket = Ticket(token.team_id, content, encoding, arrived_ns)
        self._writers.put(ticket)
        outcome = await _outcome(ticket, body, self._outage)
        if outcome.fault:
            raise outcome.fault.afresh()
        now_ns = time.time_ns()
        return wire.Answer(results=outcome.results, t2_ns=arrived_ns, t3_ns=now_ns, clock=self._clock, ask=outcome.asks)

    async def _read(self, team_id: UUID, body: Body, headers: dict[bytes, bytes]) -> bytes:
        with self._gate.passing(team_id) as took:
            try:
                self._writers.require_credit(team_id)
            except Fault:
                await asyncio.sleep(_HELD_BACK_S)
                raise
            return await body.read(headers, self._seconds, took)

    async def _authenticate(self, header: str) -> TokenInfo:
        digest = auth.digest_of(header)
        token = await self._lookups.find(digest) if digest else None
        if token is None or not token.may("ingest"):
            raise Fault(401, "token", "The token is unknown, revoked, expired, or may not ingest.", "authorization")
        return token

    async def _refuse(self, fault: Fault, body: Body, send: ASGISendCallable) -> None:
        # A client in mid-upload reads its answer while the rest is taken in, instead of a reset.
        unread = not body.complete and fault.status != 408
        await send_fault(send, fault, more=unread)
        if unread:
            await body.drain()
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _outcome(ticket: Ticket, body: Body, outage: Outage) -> Outcome:
    """What became of it. What has not begun when this raises is not begun any more; what has may still be committed.

    Raises GoneError where the client leaves first, Fault 503 where the database falls silent.
    """
    waiting = asyncio.wrap_future(ticket.outcome)
    leaving = asyncio.ensure_future(body.left())
    either: tuple[asyncio.Future[Any], ...] = (waiting, leaving)
    try:
        while not (await asyncio.wait(either, timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED))[0]:
            if outage.silent:
                raise down()
        if waiting.done():
            return waiting.result()
        raise GoneError
    finally:
        leaving.cancel()
        waiting.cancel()


app = Door()
