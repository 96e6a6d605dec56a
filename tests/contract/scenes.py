"""Named scenes of the live feed, and the golden bytes that they make; checked from Python here, from JavaScript in js/.

Each scene is two files in golden/: NAME.bin, a message as a browser gets it, and NAME.json, what it says, raw: 64-bit
numbers as text, NaN and the infinities as text, times as counts of the frame's unit since its base.
`python -m tests.contract.scenes` writes them anew; a change of them is a change of the contract.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ingest.feed.frames import (
    COLUMNS,
    HEADER,
    MAGIC,
    VERSION,
    Cursor,
    FrameType,
    encode_columns,
    encode_json,
    encode_resync,
)

GOLDEN = Path(__file__).with_name("golden")
SECOND = 10**9
NOON = 1_764_504_000 * SECOND
HERE = Cursor(epoch=(1 << 53) - 1, first=1_764_504_000_000 << 20, last=(1_764_504_000_250 << 20) | 7)
NAN = math.nan


def a_round() -> bytes:
    """Two workers in one round: one has ended its phases, the other still encodes; records were lost; one finding."""
    meta = {
        "run": {"id": "9b1c2f66-0c1f-4c58-9d8c-2a1c8f0b7e11", "name": "digits <b>&amp;", "state": "running"},
        "lanes": [{"lane": 0, "name": "coordinator"}, {"lane": 1, "name": "trainer-0 ✓ 训练"}],
        "phases": [{"phase": 0, "name": "train", "kind": "compute"}, {"phase": 1, "name": "encode", "kind": "encode"}],
        "dropped": 3,
    }
    finding = {
        "id": "f0",
        "kind": "straggler",
        "spans": [[1, 4, 1, 0]],
        "observed": 'encode took 9.3 × its peers\' "2 s"',
    }
    steps = {
        "begin": [NOON, NOON + 12 * SECOND], "end": [NOON + 12 * SECOND, -1], "index": [0, 1],
        "coverage": [0.96875, NAN], "waiting": [0.25, NAN], "kinds": np.array([np.arange(9) / 4, [NAN] * 9]),
        "generation": [0, 1], "trainers": [4, 4], "flags": [1, 0],
    }  # fmt: skip
    spans = {
        "start": [NOON, NOON + 1_500_000_999, NOON + 3 * SECOND], "duration": [1_500_000_000, 17_800_000_001, 0],
        "id": [0, 4, 0xFFFFFFFF], "round": [0, 0, -1], "lane": [0, 1, 1], "attempt": [0, 1, 65535],
        "phase": [0, 1, 1], "flags": [0, 9, 6], "thread": [0, 0, 3],
    }  # fmt: skip
    opens = {
        "start": [NOON + 12 * SECOND, NOON + 13 * SECOND], "id": [6, 8], "round": [1, 1], "progress": [NAN, 0.5],
        "lane": [1, 1], "attempt": [1, 1], "phase": [0, 1], "thread": [0, 1],
    }  # fmt: skip
    beats = {
        "heard": [NOON + 14 * SECOND, NOON + 14 * SECOND], "number": [12, 9], "error_us": [125.5, NAN],
        "lane": [0, 1], "attempt": [0, 1], "state": [0, 5],
    }  # fmt: skip
    gaps = {"begin": [NOON, -1], "end": [NOON + SECOND, -1], "count": [3, 1], "lane": [0, 1], "attempt": [0, 1]}
    samples = {
        "time": [NOON, NOON + 2 * SECOND, NOON],
        "series": [1, 1, 4_000_000_000],
        "value": [2.5e9, math.inf, NAN],
    }
    return b"".join([
        encode_json(FrameType.META, meta, HERE),
        encode_columns(FrameType.STEP, steps, HERE),
        encode_columns(FrameType.SPAN, spans, HERE),
        encode_columns(FrameType.GAP, gaps, HERE),
        encode_columns(FrameType.HEARTBEAT, beats, HERE),
        encode_columns(FrameType.OPEN_SNAPSHOT, opens, HERE),
        encode_json(FrameType.FINDING, [finding], HERE),
        encode_columns(FrameType.SAMPLE, samples, HERE),
    ])  # fmt: skip


def two_days() -> bytes:
    """Times too far apart for microseconds in 32 bits: the unit grows, and ends still meet begins."""
    day = 86_400 * SECOND
    spans = {
        "start": [NOON, NOON + day, NOON + 2 * day], "duration": [day, day, 1_234_567_891], "id": [0, 2, 4],
        "round": [0, 1, 2], "lane": [0, 0, 0], "attempt": [0, 0, 0], "phase": [0, 0, 0], "flags": [0, 0, 0],
        "thread": [0, 0, 0],
    }  # fmt: skip
    return encode_columns(FrameType.SPAN, spans, HERE)


def nothing_open() -> bytes:
    """A heartbeat whose attempt has no open phase any more, from a server without a feed."""
    beats = {"heard": [NOON], "number": [3], "error_us": [NAN], "lane": [0], "attempt": [0], "state": [3]}
    none: dict[str, Any] = {name: [] for name, _ in COLUMNS[FrameType.OPEN_SNAPSHOT]}
    return encode_columns(FrameType.HEARTBEAT, beats) + encode_columns(FrameType.OPEN_SNAPSHOT, none)


def begin_anew() -> bytes:
    """The frame that sends a viewer back to the snapshot."""
    return encode_resync(HERE)


def something_new() -> bytes:
    """A type of some later version stands between two that are known."""
    head = np.array((MAGIC, VERSION, 99, HEADER.itemsize + 8, 1, 0, 0, 0, 0, 1000, (0, 0, 0)), HEADER)
    around = encode_json(FrameType.META, {"dropped": 0}, HERE)
    return around + head.tobytes() + b"whatever" + around


def instants() -> bytes:
    """Two events of one worker, the second outside of any round and with the last number that fits."""
    events = {
        "time": [NOON + 1_234_567, NOON + 2 * SECOND], "id": [7, 0xFFFFFFFF], "round": [3, -1], "lane": [1, 1],
        "attempt": [1, 1], "phase": [4, 65535], "thread": [0, 2],
    }  # fmt: skip
    return encode_columns(FrameType.EVENT, events, HERE)


SCENES: dict[str, Callable[[], bytes]] = {
    scene.__name__: scene for scene in (a_round, two_days, nothing_open, begin_anew, something_new, instants)
}


def said(message: bytes) -> list[dict[str, Any]]:
    """What the frames of a message say, read byte by byte as the contract tells it and not by the code under test."""
    frames, position = [], 0
    while position < len(message):
        head = np.frombuffer(message, HEADER, 1, position)[0]
        body = message[position + HEADER.itemsize : position + int(head["bytes"])]
        position += int(head["bytes"])
        if int(head["type"]) in list(FrameType):
            frames.append(_frame(FrameType(int(head["type"])), head, body))
    return frames


def _frame(kind: FrameType, head: np.void, body: bytes) -> dict[str, Any]:
    frame: dict[str, Any] = {"type": kind.name, "count": int(head["count"]), "unit": int(head["unit"])}
    frame |= {name: str(int(head[name])) for name in ("epoch", "first", "last", "base")}
    if kind in COLUMNS:
        frame["columns"] = _columns(kind, int(head["count"]), body)
    elif body:
        frame["json"] = json.loads(body)
    return frame


def _columns(kind: FrameType, count: int, body: bytes) -> dict[str, list[Any]]:
    columns, position = {}, 0
    for name, form in COLUMNS[kind]:
        form = "<u4" if form in ("time", "span") else form  # noqa: PLW2901
        column = np.frombuffer(body, form, count * (9 if name == "kinds" else 1), position)
        columns[name] = [_plain(value) for value in column.tolist()]
        position += -(-column.nbytes // 8) * 8
    assert position == len(body)
    return columns


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")


def main() -> None:
    """Write the golden files anew."""
    GOLDEN.mkdir(exist_ok=True)
    for name, scene in SCENES.items():
        (GOLDEN / f"{name}.bin").write_bytes(scene())
        (GOLDEN / f"{name}.json").write_text(json.dumps(said(scene()), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
