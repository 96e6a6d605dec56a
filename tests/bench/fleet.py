"""A thousand senders in one cheap process: each rank ends a step a second, its host's shipper tells the server.

Run by `senders`: reads what to do as JSON from standard input, writes what became of it as JSON to standard output.
A rank's step is a round of its own job's: each batch ends a step and its round and begins the next, whose phase stays
open. Bodies are made from a template, since the senders share two cores with the server.
"""

import asyncio
import gzip
import json
import random
import sys
import time
import zlib
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import uvloop

from roundwatch import wire
from tests.ingest.batches import Recorder, request

SECOND = 1_000_000_000
RECORDS = 4  # of a step: the ends of its phase and its round, the begins of the next
# Stand for what differs from step to step; no other number of a body looks like these.
_NUMBER, _ROUND, _TIME = 4 * 10**15, 1_900_000_000, 1_700_000_000_000_000_000
_STANDINS = (_NUMBER - 1, _NUMBER, _NUMBER + 1, _NUMBER + 2, _NUMBER + 3, _ROUND, _ROUND + 1, _TIME - SECOND, _TIME)
_FIELDS = (b"start", b"a", b"b", b"c", b"d", b"round", b"next", b"begin", b"end")


@dataclass(frozen=True)
class Orders:
    """What `senders` asks for: steps from `began_ns` (Unix) on, told within `spread_s` seconds of their ends."""

    url: str
    token: str
    run: str
    hosts: int
    ranks: int
    steps: int
    began_ns: int
    spread_s: float
    period_ns: int = SECOND  # from one step's end to the next's


@dataclass
class Told:
    """What became of the requests: seconds from sending to the whole answer, and what was not answered as stored.

    `late` counts those that left later than 50 ms after they should have, because the one before was not answered.
    """

    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    late: int = 0


class Shipper(asyncio.Protocol):
    """One host's connection: sends a body, waits for its answer, and sends nothing before."""

    def __init__(self, orders: Orders, number: int, told: Told) -> None:
        """Prepare the host's template; `number` counts hosts from 0."""
        self._orders, self._told = orders, told
        names = [f"rank-{number * orders.ranks + place}" for place in range(orders.ranks)]
        ranks = [Recorder(name, run=orders.run, began_ns=orders.began_ns, machine=f"host-{number}") for name in names]
        self.first = wire.encode(request(*map(_begun, ranks)))
        self._template = _template(ranks)
        self._address = urlsplit(orders.url)
        self._head = (
            f"POST {wire.PATH} HTTP/1.1\r\nHost: {self._address.netloc}\r\nAuthorization: Bearer {orders.token}\r\n"
            "Content-Encoding: gzip\r\nContent-Length: "
        ).encode()
        self._received = b""
        self._sent_at = 0.0
        self.answered = asyncio.Event()

    async def connect(self) -> None:
        """Open the connection."""
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, str(self._address.hostname), int(self._address.port or 80))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self.answered.set()

    def connection_lost(self, _error: Exception | None) -> None:
        """It is gone, which nobody asked for; whoever waits is told by what was counted."""
        if not self.answered.is_set():
            self._told.refused.append("cut off")
        self.answered.set()

    def send(self, body: bytes) -> None:
        """Send one request."""
        self.answered.clear()
        self._received = b""
        self._sent_at = time.perf_counter()
        self._transport.write(b"%s%d\r\n\r\n%s" % (self._head, len(body), body))

    def data_received(self, data: bytes) -> None:
        """Take in the answer; once it is whole, note how long it took."""
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not length or len(body) < int(length):
            return
        self._told.seconds.append(time.perf_counter() - self._sent_at)
        good = head.startswith(b"HTTP/1.1 200") and body.count(b'"stored"') == self._orders.ranks
        if not good:
            self._told.refused.append(f"{head[9:12].decode()} {body[:80].decode()}")
        self.answered.set()

    def step(self, index: int) -> bytes:
        """The request that tells of the end of step `index`."""
        number = 3 + RECORDS * index
        period = self._orders.period_ns
        ended = self._orders.began_ns + (index + 1) * period
        values = (number - 1, number, number + 1, number + 2, number + 3, index, index + 1, ended - period, ended)
        text = self._template % dict(zip(_FIELDS, values, strict=True))
        packer = zlib.compressobj(1, wbits=31)
        return packer.compress(text) + packer.flush()

    async def tell(self, offset_s: float) -> None:
        """Tell of every step, `offset_s` after its end."""
        for index in range(self._orders.steps):
            due = (self._orders.began_ns + (index + 1) * self._orders.period_ns) / SECOND + offset_s
            await asyncio.sleep(max(0.0, due - time.time()))
            await self.answered.wait()
            self._told.late += time.time() - due > 0.05
            if self._transport.is_closing():  # the server waits for five seconds only
                await self.connect()
            self.send(self.step(index))
        await self.answered.wait()


def _begun(rank: Recorder) -> wire.Batch:
    """The attempt's begin and the first step's; numbers 0 to 2."""
    rank.begin().begin_round(0, rank.began_ns).open("step", rank.began_ns, round=0)
    return rank.batch()


def _template(ranks: list[Recorder]) -> bytes:
    """A host's request as JSON, with a % field for each number that differs from step to step."""
    batches = []
    for rank in ranks:
        model = Recorder(rank.worker, rank.run, began_ns=rank.began_ns, machine=rank.machine, stream=rank.stream)
        model.next_number = _NUMBER - 2
        start = model.begin_round(_ROUND, _TIME - SECOND).open("step", _TIME - SECOND, round=_ROUND)
        model.batch()
        model.close(start, _TIME).end_round(_ROUND, _TIME)
        model.begin_round(_ROUND + 1, _TIME).open("step", _TIME, round=_ROUND + 1)
        batches.append(model.batch())
    text = gzip.decompress(wire.encode(request(*batches))).replace(b"%", b"%%")
    for value, name in zip(_STANDINS, _FIELDS, strict=True):
        text = text.replace(b"%d" % value, b"%%(%s)d" % name)
    return text


async def _begin(shipper: Shipper, few: asyncio.Semaphore) -> None:
    async with few:  # a job's ranks begin over some seconds
        await shipper.connect()
        shipper.send(shipper.first)
        await shipper.answered.wait()


async def _tell_all(orders: Orders) -> Told:
    told = Told()
    shippers = [Shipper(orders, number, told) for number in range(orders.hosts)]
    few = asyncio.Semaphore(16)
    await asyncio.gather(*(_begin(each, few) for each in shippers))
    if told.refused:
        raise SystemExit(f"{len(told.refused)} first requests were refused: {told.refused[0]}")
    told.seconds.clear()
    chance = random.Random(1)  # noqa: S311 - spread, not secrecy
    await asyncio.gather(*(each.tell(chance.uniform(0, orders.spread_s)) for each in shippers))
    return told


def main() -> None:
    """Do as ordered."""
    orders = Orders(**json.loads(sys.stdin.readline()))
    told = uvloop.run(_tell_all(orders))
    print(json.dumps({"seconds": told.seconds, "refused": told.refused, "late": told.late}))


if __name__ == "__main__":
    main()
