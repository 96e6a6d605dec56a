"""What one viewer that reads slowly, or not at all, costs the server and nineteen others; printed.

Twenty viewers watch one run over real sockets while its phases are sent four times a second. In turns all of them read
as fast as they can, or one of them reads a message every two seconds, or one has stopped reading. A delay is that from
the answer to a request until a viewer has its last phase.
"""

import asyncio
import logging
import os
import socket
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.typing import Origin

from ingest.feed.frames import FrameType, decode
from tests.bench.browser_stage import Watched, watched
from tests.bench.table import Row, conditions, median_ratio, percentile, show
from tests.e2e.product import command_of, descendants
from tests.ingest.batches import Recorder

if TYPE_CHECKING:
    from tests.dashboard.live.watcher import Watcher

VIEWERS, POSTS, EVERY_S, PHASES, TURNS = 20, 40, 0.25, 500, 4
ALL, SLOW, STOPPED = "all read", "one reads slowly", "one has stopped"
PAUSES = {ALL: 0.0, SLOW: 2.0, STOPPED: 3600.0}  # seconds before the odd viewer takes its next message


@dataclass
class Flow:
    """A run that goes on: `answered` has the time (ns) of each answer by the last phase that it was about."""

    place: Watched
    run: str
    recorder: Recorder = field(init=False)
    answered: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the run known."""
        self.recorder = Recorder("rank-0", run=self.run, began_ns=time.time_ns()).begin()
        self.tell()

    def tell(self) -> None:
        """One request; returns with its answer."""
        end = time.time_ns() // 1000 * 1000
        for number in range(PHASES):
            begin = end - (PHASES - number) * 100_000
            self.recorder.phase(("train", "encode")[number % 2], begin, begin + 90_000)
        self.place.send(self.recorder.batch())
        self.answered.append((self.recorder.next_number - 2, time.time_ns()))


def reading(watcher: "Watcher") -> list[tuple[int, int]]:
    """Makes a viewer note (highest phase, when) of each message and do nothing else; returns where it notes it."""
    found: list[tuple[int, int]] = []

    def take(message: bytes) -> None:
        now = time.time_ns()
        frames = decode(message)
        watcher.cursor = (frames[-1][1]["epoch"], frames[-1][1]["last"])
        found.extend(
            (int(frame["id"].max()), now) for kind, frame in frames if kind is FrameType.SPAN and frame["id"].size
        )

    watcher.take = take  # type: ignore[method-assign]
    return found


def delays(found: list[tuple[int, int]], answered: list[tuple[int, int]]) -> list[float]:
    """Ms from each answer to the first message with its last phase."""
    return [max(0.0, (next(at for last, at in found if last >= phase) - told) / 1e6) for phase, told in answered]


async def throttled(watcher: "Watcher", pause_s: float) -> None:
    """Greets, and then takes a message each `pause_s`, through a small window, and acknowledges it."""
    url = urlsplit(watcher.web)
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    narrow.connect((url.hostname, url.port))
    async with connect(
        f"ws://{url.netloc}/ws/runs/{watcher.run_id}/", sock=narrow, origin=Origin(watcher.web), max_size=None,
        max_queue=1, compression=None, additional_headers={"Cookie": watcher.cookie}, ping_interval=None,
    ) as watcher.socket:  # fmt: skip
        await watcher.hello()
        taken = 0
        while True:
            await asyncio.sleep(pause_s)
            if isinstance(await watcher.socket.recv(), bytes):
                taken += 1
                await watcher.socket.send(f'{{"ack": {taken}}}')


async def turn(place: Watched, key: str, how: str) -> tuple[float, float]:
    """The p95 (ms) of nineteen viewers of a new run, and the most that the server held meanwhile (MiB)."""
    from ingest.models import Run
    from tests.dashboard.live.watcher import Watcher

    flow = await asyncio.to_thread(Flow, place, key)
    run = await asyncio.to_thread(Run.objects.get, key=key)
    odd, *watchers = [Watcher(place.stage.url, place.user, run.pk) for _ in range(VIEWERS)]
    for watcher in watchers:
        await watcher.__aenter__()
    notes = [reading(watcher) for watcher in watchers]
    await odd.load()
    odd_one = asyncio.create_task(throttled(odd, PAUSES[how]))
    first, most, began = len(flow.answered), 0.0, time.monotonic()
    for number in range(POSTS):
        await asyncio.sleep(max(0, began + number * EVERY_S - time.monotonic()))
        await asyncio.to_thread(flow.tell)
        most = max(most, held())
    await asyncio.sleep(1)
    if odd_one.done():
        raise SystemExit(f"the odd viewer ended: {odd_one.exception()}")
    odd_one.cancel()
    await asyncio.gather(odd_one, *(watcher.cut() for watcher in watchers), return_exceptions=True)
    return percentile([delay for note in notes for delay in delays(note, flow.answered[first:])], 0.95), most


def held() -> float:
    """Resident MiB of the web server."""
    pid = next(pid for pid in descendants(os.getpid()) if "dashboard.project.serve" in command_of(pid))
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


async def measure(place: Watched) -> dict[str, list[tuple[float, float]]]:
    """(p95, MiB) of each turn, by its kind; turns in which all read are told apart by what they stand beside."""
    await turn(place, "first", ALL)  # fills caches, and the allocator's pools
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(TURNS):
        for how in (SLOW, STOPPED):
            beside = f"{ALL}, beside {how}"
            # Whoever comes second has the larger database: each does so as often as the other.
            for kind, key in ((ALL, beside), (how, how)) if number % 2 else ((how, how), (ALL, beside)):
                found.setdefault(key, []).append(await turn(place, f"{number} {key}", kind))
    return found


def main() -> None:
    """Print every row."""
    conditions("viewers", f"{VIEWERS} viewers", f"{PHASES / EVERY_S:,.0f} phases a second", f"{TURNS} turns of each")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with watched() as place:
        found = asyncio.run(measure(place))
    rows = []
    for how in (SLOW, STOPPED):
        with_it, without = found[how], found[f"{ALL}, beside {how}"]
        ratio = median_ratio((ours[0], alone[0]) for ours, alone in zip(with_it, without, strict=True))
        p95, reference = (statistics.median(one[0] for one in ones) for ones in (with_it, without))
        grown = statistics.median(ours[1] - alone[1] for ours, alone in zip(with_it, without, strict=True))
        rows += [
            Row(name=f"{how}: p95 of the others", ours=p95, unit="ms", reference=reference, ratio=ratio, most=1.1),
            Row(name=f"{how}: growth of the server", ours=grown, unit="MiB", most=10),
        ]
    show(rows)


if __name__ == "__main__":
    main()
