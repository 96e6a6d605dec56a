"""A server that takes wire requests over real HTTP and remembers, per stream, what each number was."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from roundwatch import wire

Answer = tuple[int, dict[str, str]]
CLOCK_AHEAD_NS = 1_700_000_000_000_000_000  # the collector's clock against the monotonic one


@dataclass
class Heard:
    """One stream as the collector knows it: every number's record, as (sort, row)."""

    identity: dict[str, Any]
    records: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    highest: int = -1
    conflicts: list[int] = field(default_factory=list)

    def of(self, sort: str) -> list[dict[str, Any]]:
        return [row for _, (kind, row) in sorted(self.records.copy().items()) if kind == sort]

    def phases(self, name: str = "") -> list[dict[str, Any]]:
        return [row for row in self.of("phase") if not name or row["name"] == name]

    def turns(self) -> list[str]:
        return [row["what"] for row in self.of("lifecycle")]

    def whole(self) -> bool:
        known = self.records.copy()  # at once: requests go on adding to it
        return sorted(known) == list(range(len(known)))


class Collector:
    """`answers` decides what each request gets: a status with headers, or None, which takes it into `streams`."""

    def __init__(self) -> None:
        self.streams: dict[str, Heard] = {}
        self.requests: list[dict[str, Any]] = []
        self.tokens: list[str] = []
        self.answers: Callable[[dict[str, Any]], Answer | None] = lambda _: None
        self.deleted: set[str] = set()
        self.refused: dict[str, str] = {}  # reasons by stream
        self.missing: dict[str, list[list[int]]] = {}
        self.asks: list[Any] = []  # taken along by the next answer
        self.lock = threading.Lock()
        self.server: ThreadingHTTPServer | None = None
        self.port = 0
        self.connections: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                t2 = now_ns()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = json.loads(gzip.decompress(body))
                refusal = collector.answers(request)
                with collector.lock:
                    collector.requests.append(request)
                    collector.tokens.append(self.headers["Authorization"])
                    results = [] if refusal else [collector.take(batch) for batch in request["batches"]]
                status, headers = refusal or (200, {})
                answer = {
                    "results": results,
                    "t2_ns": t2,
                    "t3_ns": now_ns(),
                    "clock": "collector",
                    "ask": collector.wishes(),
                }
                text = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def setup(self) -> None:
                super().setup()
                collector.connections.append(self.connection)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            for connection in self.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self.connections.clear()
            self.server = None

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        if batch["stream"] in self.deleted:
            return {"stream": batch["stream"], "status": "deleted", "missing": [], "rejected": 0}
        if reason := self.refused.get(batch["stream"]):
            return {"stream": batch["stream"], "status": "refused", "missing": [], "rejected": 0, "reason": reason}
        heard = self.streams.setdefault(batch["stream"], Heard(batch["identity"]))
        for number, record in rows(batch):
            known = heard.records.setdefault(number, record)
            if known != record:
                heard.conflicts.append(number)
        if batch["first"] + batch["count"] - 1 >= heard.highest:
            heard.highest = batch["first"] + batch["count"] - 1
            heard.last = batch
        missing = self.missing.pop(batch["stream"], [])
        return {"stream": batch["stream"], "status": "stored", "missing": missing, "rejected": 0}

    def wishes(self) -> list[Any]:
        """What is asked of the next shipper that comes, once."""
        wishes, self.asks = self.asks, []
        return wishes

    def workers(self) -> list[Heard]:
        with self.lock:
            return [heard for heard in self.streams.values() if heard.identity["kind"] == "worker"]

    def worker(self) -> Heard:
        """The only worker's stream; an empty one where there is none yet."""
        found = self.workers()
        assert len(found) <= 1
        return found[0] if found else Heard({})


def now_ns() -> int:
    return time.monotonic_ns() + CLOCK_AHEAD_NS


DELTAS = {"phases": ("number", "start", "begin_ns"), "rounds": ("number", "begin_ns")}
SORTS = {"phases": "phase", "rounds": "round", "events": "event", "samples": "sample"}
Row = tuple[int, tuple[str, dict[str, Any]]]


def rows(batch: dict[str, Any]) -> list[Row]:
    """(number, (sort, row)) of everything in a batch, with its indices resolved; fails where it does not cover."""
    found: list[Row] = [(number, ("start", {})) for number in wire.undelta(batch["starts"])]
    for part, sort in SORTS.items():
        found += [(row["number"], (sort, row)) for row in table(batch, part)]
    found += [(turn["number"], ("lifecycle", turn)) for turn in batch["lifecycle"]]
    for drop in batch["drops"]:
        found += [(drop["number"] + step, ("drop", {} if step else drop)) for step in range(drop["span"])]
    numbers = sorted(number for number, _ in found)
    assert numbers == list(range(batch["first"], batch["first"] + batch["count"])), (numbers, batch["first"])
    return found


def table(batch: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """The rows of one sort of records."""
    columns = dict(batch[part])
    for name in DELTAS.get(part, ("number", "time_ns")):
        columns[name] = wire.undelta(columns[name])
    found = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    tables = {"name": batch["names"], "worker": batch["names"], "device": batch["names"], "attrs": batch["attrs"]}
    tables |= {"metric": batch["metrics"], "kind": wire.KINDS, "state": wire.PHASE_STATES}
    for row in found:
        for name, entries in tables.items():
            if name in row:
                row[name] = None if row[name] < 0 else entries[row[name]]
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()


def until(condition: Callable[[], Any], what: str, seconds: float = 20) -> Any:
    """Waits until `condition` holds and returns its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return value
