"""The live contract in bytes: what a run's feed says, and how it is laid out.

A **frame** is little-endian and a multiple of 8 bytes long: a header, then columns, each padded to 8 bytes. Frames are
concatenated; a reader walks them by their length and passes over types it does not know.

Header, 64 bytes: magic u32 (`MAGIC`), version u16, type u16, bytes u32 (whole frame), count u32, epoch u64,
first u64, last u64 (cursor range, the two halves of a feed entry's id as milliseconds << 20 | sequence), base i64
(Unix ns), unit u32 (ns), 12 bytes of zeros. Times in columns are u32 in `unit` since `base`.

| type | columns, in this order |
| --- | --- |
| SPAN 1 | start u32, duration u32, id u32 (start number), round i32, lane u16, attempt u16, phase u16, flags u16, |
| | thread u16 |
| STEP 3 | begin u32, end u32 (0xFFFFFFFF while open), index i32, coverage f32, waiting f32, kinds f32[count x 9], |
| | generation u16, trainers u16, flags u16 |
| SAMPLE 4 | time u32, series u32, value f32 |
| FINDING 5 | JSON: list of findings, as `finding_message` |
| OPEN_SNAPSHOT 6 | start u32, id u32, round i32, progress f32 (NaN unknown), lane u16, attempt u16, phase u16, |
| | thread u16 |
| RESYNC 8 | none: forget all, load a snapshot |
| HEARTBEAT 9 | heard u32, number u32, error_us f32 (NaN unknown), lane u16, attempt u16, state u16 |
| META 10 | JSON: {"lanes", "attempts", "phases", "series", "run", ...}: what is new; a snapshot's has "base", and |
| | "older_from_ns" where it leaves out older phases: when the first of all begins |
| GAP 11 | begin u32, end u32, count u32, lane u16, attempt u16 |
| EVENT 12 | time u32, id u32 (record number), round i32, lane u16, attempt u16, phase u16 (its name), thread u16 |

2 (CLOSE) and 7 (TILE_COLUMN) are kept free. A SPAN closes the open phase of the same (attempt, id). In one message the
OPEN_SNAPSHOT rows replace all open phases of each attempt that its HEARTBEAT frame names with a `number` at least as
high as the one known. Missing figures are NaN. `attempt` is Stream.index, one number for each stream of the run; which
life of its worker that is, REST's attempt, META tells as "number".
"""

import enum
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = 0x31465752  # "RWF1"
VERSION = 1
HEADER = np.dtype(
    [
        ("magic", "<u4"), ("version", "<u2"), ("type", "<u2"), ("bytes", "<u4"), ("count", "<u4"),
        ("epoch", "<u8"), ("first", "<u8"), ("last", "<u8"), ("base", "<i8"), ("unit", "<u4"), ("reserved", "<u4", 3),
    ]
)  # fmt: skip
OPEN_END = 0xFFFFFFFF


class FrameType(enum.IntEnum):
    SPAN = 1
    STEP = 3
    SAMPLE = 4
    FINDING = 5
    OPEN_SNAPSHOT = 6
    RESYNC = 8
    HEARTBEAT = 9
    META = 10
    GAP = 11
    EVENT = 12


class SpanFlag(enum.IntFlag):
    ERROR = 1
    ABORTED = 2
    NESTED = 4
    SLOW = 8


class StepFlag(enum.IntFlag):
    CLOSED = 1
    SUPERSEDED = 2


_TYPES = frozenset(int(kind) for kind in FrameType)

# HEARTBEAT's state is an index into this.
STATES = ("running", "stale", "lost", "finished", "failed", "killed")

COLUMNS: dict[FrameType, tuple[tuple[str, str], ...]] = {
    FrameType.SPAN: (
        ("start", "time"), ("duration", "span"), ("id", "<u4"), ("round", "<i4"), ("lane", "<u2"),
        ("attempt", "<u2"), ("phase", "<u2"), ("flags", "<u2"), ("thread", "<u2"),
    ),
    FrameType.STEP: (
        ("begin", "time"), ("end", "time"), ("index", "<i4"), ("coverage", "<f4"), ("waiting", "<f4"),
        ("kinds", "<f4"), ("generation", "<u2"), ("trainers", "<u2"), ("flags", "<u2"),
    ),
    FrameType.SAMPLE: (("time", "time"), ("series", "<u4"), ("value", "<f4")),
    FrameType.OPEN_SNAPSHOT: (
        ("start", "time"), ("id", "<u4"), ("round", "<i4"), ("progress", "<f4"), ("lane", "<u2"),
        ("attempt", "<u2"), ("phase", "<u2"), ("thread", "<u2"),
    ),
    FrameType.HEARTBEAT: (
        ("heard", "time"), ("number", "<u4"), ("error_us", "<f4"), ("lane", "<u2"), ("attempt", "<u2"),
        ("state", "<u2"),
    ),
    FrameType.GAP: (("begin", "time"), ("end", "time"), ("count", "<u4"), ("lane", "<u2"), ("attempt", "<u2")),
    FrameType.EVENT: (
        ("time", "time"), ("id", "<u4"), ("round", "<i4"), ("lane", "<u2"), ("attempt", "<u2"), ("phase", "<u2"),
        ("thread", "<u2"),
    ),
}  # fmt: skip

Rows = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where in a run's feed a reader stands; `epoch` tells one life of the feed from the next."""

    epoch: int = 0
    first: int = 0
    last: int = 0


def time_frame(times: Sequence[npt.NDArray[np.int64]], longest: int = 0) -> tuple[int, int]:
    """Base (Unix ns) and unit (ns) under which all `times`, and a span of `longest` ns, fit in a u32.

    The unit is 1 us or 10, 100 ... times that. The base is a multiple of the unit, so that times which were decoded
    and are encoded again do not move.
    """
    filled = [column for column in times if column.size]
    low = min((int(column.min()) for column in filled), default=0)
    high = max((int(column.max()) for column in filled), default=0)
    unit = 1_000
    while max(high - low // unit * unit, longest) // unit >= OPEN_END - 1:
        unit *= 10
    return low // unit * unit, unit


def encode_columns(kind: FrameType, rows: Rows, cursor: Cursor = Cursor()) -> bytes:
    """A columnar frame. `rows` holds every column of `COLUMNS[kind]`; times are int64 Unix ns, spans int64 ns.

    A `time` of -1 stands for "not yet" and is sent as 0xFFFFFFFF.
    """
    names = COLUMNS[kind]
    wide = {name: np.asarray(rows[name], np.int64) for name, form in names if form in ("time", "span")}
    times = [column[column >= 0] for name, column in wide.items() if dict(names)[name] == "time"]
    spans = [column for name, column in wide.items() if dict(names)[name] == "span"]
    longest = max((int(column.max()) for column in spans if column.size), default=0)
    base, unit = time_frame(times, longest)
    count = len(np.asarray(rows[names[0][0]]))
    parts: list[bytes] = []
    for name, form in names:
        if form == "time":
            scaled = np.where(wide[name] < 0, OPEN_END, (wide[name] - base) // unit)
            parts.append(_padded(scaled.astype("<u4").tobytes()))
        elif form == "span":
            # The end, not the length, is rounded down, so that a bar ends where its follower begins.
            starts = wide["start"]
            parts.append(
                _padded(((starts + wide[name] - base) // unit - (starts - base) // unit).astype("<u4").tobytes())
            )
        else:
            parts.append(_padded(np.ascontiguousarray(rows[name], dtype=form).tobytes()))
    return _frame(kind, b"".join(parts), count=count, cursor=cursor, base=base, unit=unit)


def encode_json(kind: FrameType, payload: Any, cursor: Cursor = Cursor()) -> bytes:
    """A frame whose payload is JSON (META, FINDING), padded with spaces."""
    text = json.dumps(payload, separators=(",", ":"), allow_nan=False).encode()
    return _frame(kind, text + b" " * (-len(text) % 8), count=1, cursor=cursor)


def encode_resync(cursor: Cursor = Cursor()) -> bytes:
    """The frame that tells a viewer to forget everything and load a snapshot."""
    return _frame(FrameType.RESYNC, b"", count=0, cursor=cursor)


def decode(data: bytes) -> list[tuple[FrameType, dict[str, Any]]]:
    """Frames of a message, columns as arrays with times back in Unix ns; unknown types are passed over.

    Raises ValueError where the bytes are not frames of this version.
    """
    frames = []
    position = 0
    while position < len(data):
        head = np.frombuffer(data, HEADER, 1, position)[0]
        if head["magic"] != MAGIC or head["version"] != VERSION or head["bytes"] < HEADER.itemsize:
            raise ValueError(f"not a frame at byte {position}")
        if position + int(head["bytes"]) > len(data):
            raise ValueError(f"half a frame at byte {position}")
        if int(head["type"]) in _TYPES:
            frames.append((FrameType(int(head["type"])), _payload(data, position, head)))
        position += int(head["bytes"])
    return frames


def _payload(data: bytes, position: int, head: np.void) -> dict[str, Any]:
    kind = FrameType(int(head["type"]))
    count = int(head["count"])
    start = position + HEADER.itemsize
    found: dict[str, Any] = {
        "epoch": int(head["epoch"]),
        "first": int(head["first"]),
        "last": int(head["last"]),
    }
    if kind not in COLUMNS:
        body = data[start : position + int(head["bytes"])]
        return found | {"json": json.loads(body)} if body else found
    base, unit = int(head["base"]), int(head["unit"])
    for name, form in COLUMNS[kind]:
        dtype = np.dtype("<u4" if form in ("time", "span") else form)
        length = count * 9 if name == "kinds" else count
        column = np.frombuffer(data, dtype, length, start)
        start += length * dtype.itemsize + (-length * dtype.itemsize % 8)
        if form == "time":
            found[name] = np.where(column == OPEN_END, -1, column.astype(np.int64) * unit + base)
        elif form == "span":
            found[name] = column.astype(np.int64) * unit
        else:
            found[name] = column.reshape(count, 9) if name == "kinds" else column
    return found


def _frame(kind: FrameType, body: bytes, *, count: int, cursor: Cursor, base: int = 0, unit: int = 1_000) -> bytes:
    size = HEADER.itemsize + len(body)
    place = (cursor.epoch, cursor.first, cursor.last)
    head = np.array((MAGIC, VERSION, kind, size, count, *place, base, unit, (0, 0, 0)), HEADER)
    return head.tobytes() + body


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


def figure(value: float | None) -> float:
    """A figure as the columns carry it: NaN where it is not known."""
    return math.nan if value is None else value
