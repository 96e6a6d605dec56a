"""A browser without a screen: loads the snapshot, says hello, draws at once, and knows every span that it was shown."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from django.db import connections
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from ingest.feed.frames import FrameType, decode
from tests.cast import browser_of

Span = tuple[int, int]  # attempt, start number

AGAIN_SPANS = 200_000  # what a page asks for when it has shown the run before


class Watcher:
    """`spans` counts how often each span came; `open` are the open phases of each attempt; `latest` the frames."""

    def __init__(self, web: str, user: Any, run_id: Any) -> None:
        self.web, self.run_id = web, run_id
        self.cookie = user and f"sessionid={browser_of(user).cookies['sessionid'].value}"
        self.spans: dict[Span, int] = {}
        self.steps: dict[tuple[int, int], dict[str, Any]] = {}
        self.beats: dict[int, dict[str, Any]] = {}
        self.open: dict[int, set[int]] = {}
        self.samples: set[tuple[int, int]] = set()
        self.findings: dict[str, dict[str, Any]] = {}
        self.meta: dict[str, Any] = {}
        self.cursor, self.base = (0, 0), ""
        self.messages = self.resyncs = self.now_ns = 0
        self.sizes: list[int] = []
        self.drawing = True
        self.socket: ClientConnection | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.load()
        await self.greet()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.cut()

    async def load(self) -> None:
        again = {"spans": AGAIN_SPANS} if self.meta else {}
        path = f"{self.web}/runs/{self.run_id}/live/snapshot"
        async with httpx.AsyncClient(timeout=30) as client:
            answer = await client.get(path, params=again, headers={"Cookie": self.cookie})
        assert answer.status_code == 200, answer.text
        self.forget()
        self.take(answer.content)

    def forget(self) -> None:
        for known in (self.spans, self.steps, self.beats, self.open, self.findings, self.meta):
            known.clear()
        self.samples.clear()
        self.cursor = (0, 0)

    async def greet(self) -> None:
        address = urlsplit(self.web).netloc
        self.socket = await connect(
            f"ws://{address}/ws/runs/{self.run_id}/", origin=Origin(self.web),
            additional_headers={"Cookie": self.cookie}, max_size=None, compression=None,
        )  # fmt: skip
        await self.hello()
        self.messages = 0
        self._task = asyncio.create_task(self._listen(self.socket))

    async def hello(self) -> None:
        assert self.socket
        epoch, last = self.cursor
        await self.socket.send(json.dumps({"hello": {"epoch": str(epoch), "last": str(last), "base": self.base}}))

    async def cut(self) -> None:
        """The connection is lost; what was shown stays."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.socket:
            await self.socket.close()

    async def ack(self) -> None:
        assert self.socket
        await self.socket.send(json.dumps({"ack": self.messages}))

    async def _listen(self, socket: ClientConnection) -> None:
        async for message in socket:
            if isinstance(message, str):
                said = json.loads(message)
                self.now_ns, self.base = int(said["now_ns"]), said.get("base", self.base)
                continue
            self.messages += 1
            self.sizes.append(len(message))
            if any(kind is FrameType.RESYNC for kind, _ in decode(message)):
                self.resyncs += 1
                await self.load()
                await self.hello()
            else:
                self.take(message)
                if self.drawing:
                    await self.ack()

    def take(self, message: bytes) -> None:
        frames = decode(message)
        for kind, frame in frames:
            if frame["epoch"] and (frame["epoch"] != self.cursor[0] or frame["last"] > self.cursor[1]):
                self.cursor = (frame["epoch"], frame["last"])
            self._draw(kind, frame)
        self._reopen(frames)

    def _draw(self, kind: FrameType, frame: dict[str, Any]) -> None:
        if kind is FrameType.SPAN:
            for span in zip(frame["attempt"].tolist(), frame["id"].tolist(), strict=True):
                self.spans[span] = self.spans.get(span, 0) + 1
                self.open.get(span[0], set()).discard(span[1])
        elif kind is FrameType.STEP:
            for row in _rows(frame):
                self.steps[row["index"], row["generation"]] = row
        elif kind is FrameType.SAMPLE:
            self.samples |= {(row["series"], row["time"]) for row in _rows(frame)}
        elif kind is FrameType.FINDING:
            self.findings |= {finding["id"]: finding for finding in frame["json"]}
        elif kind is FrameType.META:
            self._named(frame["json"])

    def _named(self, meta: dict[str, Any]) -> None:
        self.base = meta.get("base", self.base)
        for key, name in {"lanes": "lane", "attempts": "attempt", "phases": "phase", "series": "series"}.items():
            self.meta.setdefault(key, {}).update({item[name]: item for item in meta.get(key, [])})
        self.meta |= {key: value for key, value in meta.items() if not isinstance(value, list)}

    def _reopen(self, frames: list[tuple[FrameType, dict[str, Any]]]) -> None:
        fresh: set[int] = set()
        for row in (row for kind, frame in frames if kind is FrameType.HEARTBEAT for row in _rows(frame)):
            if row["number"] >= self.beats.get(row["attempt"], {"number": -1})["number"]:
                self.beats[row["attempt"]] = row
                self.open[row["attempt"]] = set()
                fresh.add(row["attempt"])
        for row in (row for kind, frame in frames if kind is FrameType.OPEN_SNAPSHOT for row in _rows(frame)):
            if row["attempt"] in fresh and (row["attempt"], row["id"]) not in self.spans:
                self.open[row["attempt"]].add(row["id"])


def _rows(frame: dict[str, Any]) -> list[dict[str, Any]]:
    names = [name for name, column in frame.items() if hasattr(column, "tolist")]
    return [dict(zip(names, row, strict=True)) for row in zip(*(frame[name].tolist() for name in names), strict=True)]


async def act(do: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `do` returns, done in a thread, whose database connection does not outlive it."""

    def done() -> Any:
        try:
            return do(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.to_thread(done)


async def until(condition: Callable[[], bool], *, what: str = "", seconds: float = 20) -> None:
    """Return once the condition holds; fails when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what or "it did not come true in time"
        await asyncio.sleep(0.02)
