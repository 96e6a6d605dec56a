"""Merging what a run's feed says: any number of entries become one message that says the same, and no more.

A **part** is a parsed entry: at most one frame of each type, as decoded columns or JSON. Merging is associative, so a
viewer that lags is served from parts that were merged before. What the types mean is told in `ingest.feed.frames`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.feed.frames import COLUMNS, HEADER, Cursor, FrameType, decode, encode_columns, encode_json

Columns = dict[str, npt.NDArray[Any]]
Part = Mapping[FrameType, Any]

# Spans, events, samples and gaps happened and stay; of the others only the latest word counts.
_APPENDED = (FrameType.SPAN, FrameType.EVENT, FrameType.SAMPLE, FrameType.GAP)
_META_KEYS = {"lanes": "lane", "attempts": "attempt", "phases": "phase", "series": "series"}
# Names come before what refers to them, and an end before the list of what is still open.
_ORDER = (
    FrameType.META, FrameType.STEP, FrameType.SPAN, FrameType.EVENT, FrameType.GAP, FrameType.HEARTBEAT,
    FrameType.OPEN_SNAPSHOT, FrameType.FINDING, FrameType.SAMPLE,
)  # fmt: skip


def parse(payload: bytes) -> Part:
    """An entry's frames as a part. Raises ValueError where the bytes are not frames of this version."""
    frames: dict[FrameType, list[Any]] = {}
    for kind, found in decode(payload):
        frames.setdefault(kind, []).append(found["json"] if kind not in COLUMNS else found)
    part: dict[FrameType, Any] = {}
    for kind, several in frames.items():
        if kind is FrameType.META:
            part[kind] = _merged_meta(several)
        elif kind is FrameType.FINDING:
            part[kind] = _merged_findings(several)
        elif kind in COLUMNS:
            part[kind] = _stacked(kind, several)
    return part


def merge(parts: Sequence[Part]) -> Part:
    """One part for several, oldest first: everything that happened, and the latest word on everything that changes."""
    if len(parts) == 1:
        return parts[0]
    merged: dict[FrameType, Any] = {}
    for kind in _APPENDED:
        if found := [part[kind] for part in parts if kind in part]:
            merged[kind] = _stacked(kind, found)
    if found := [part[FrameType.STEP] for part in parts if FrameType.STEP in part]:
        merged[FrameType.STEP] = _merged_steps(found)
    if found := [part for part in parts if FrameType.HEARTBEAT in part]:
        merged |= _merged_beats(found)
    if found := [part[FrameType.META] for part in parts if FrameType.META in part]:
        merged[FrameType.META] = _merged_meta(found)
    if found := [part[FrameType.FINDING] for part in parts if FrameType.FINDING in part]:
        merged[FrameType.FINDING] = _merged_findings(found)
    return merged


def encode(part: Part, cursor: Cursor) -> bytes:
    """A part as the bytes of one message, every frame with the cursor."""
    return b"".join(
        encode_columns(kind, part[kind], cursor) if kind in COLUMNS else encode_json(kind, part[kind], cursor)
        for kind in _ORDER
        if kind in part
    )


def weight(part: Part) -> int:
    """About how many bytes a part holds: its columns, and 200 for each item of JSON."""
    columns = [column for kind in part if kind in COLUMNS for column in part[kind].values()]
    meta: dict[str, Any] = part.get(FrameType.META, {})
    items = sum(len(value) for value in meta.values() if isinstance(value, list))
    return sum(int(column.nbytes) for column in columns) + 200 * (items + len(part.get(FrameType.FINDING, [])))


def _stacked(kind: FrameType, several: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([columns[name] for columns in several]) for name, _ in COLUMNS[kind]}


def _latest(group: npt.NDArray[Any], *ranks: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Row numbers, one for each value of `group`: the one that is highest by `ranks`, the first of them deciding."""
    order = np.lexsort((*reversed(ranks), group))
    ordered = group[order]
    return order[np.append(ordered[1:] != ordered[:-1], True)] if order.size else order


def _merged_steps(several: Sequence[Columns]) -> Columns:
    steps = _stacked(FrameType.STEP, several)
    key = steps["index"].astype(np.int64) << 16 | steps["generation"]
    rows = _latest(key, np.arange(key.size))
    return {name: column[rows] for name, column in steps.items()}


def _merged_beats(parts: Sequence[Part]) -> dict[FrameType, Columns]:
    """The latest heartbeat of each attempt, with the phases that were open then."""
    beats = _stacked(FrameType.HEARTBEAT, [part[FrameType.HEARTBEAT] for part in parts])
    source = np.repeat(np.arange(len(parts)), [part[FrameType.HEARTBEAT]["attempt"].size for part in parts])
    rows = _latest(beats["attempt"], beats["number"], beats["heard"], source)
    said_by = dict(zip(beats["attempt"][rows].tolist(), source[rows].tolist(), strict=True))
    opens = [
        {name: column[[said_by.get(attempt) == place for attempt in found["attempt"].tolist()]]
         for name, column in found.items() if name in dict(COLUMNS[FrameType.OPEN_SNAPSHOT])}
        for place, part in enumerate(parts)
        if (found := part.get(FrameType.OPEN_SNAPSHOT)) is not None and found["attempt"].size
    ]  # fmt: skip
    return {
        FrameType.HEARTBEAT: {name: column[rows] for name, column in beats.items()},
        FrameType.OPEN_SNAPSHOT: _stacked(FrameType.OPEN_SNAPSHOT, opens) if opens else nothing_open(),
    }


def nothing_open() -> Columns:
    """An OPEN_SNAPSHOT without rows: what the heartbeats beside it name has no open phase."""
    forms = {"time": "i8", "span": "i8"}
    return {name: np.empty(0, forms.get(form, form)) for name, form in COLUMNS[FrameType.OPEN_SNAPSHOT]}


def _merged_meta(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for meta in several:
        for key, value in meta.items():
            if key in _META_KEYS:
                known = {item[_META_KEYS[key]]: item for item in merged.get(key, [])}
                merged[key] = list((known | {item[_META_KEYS[key]]: item for item in value}).values())
            elif key == "run":
                merged[key] = merged.get(key, {}) | value
            else:
                merged[key] = value
    return merged


def _merged_findings(several: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return list({finding["id"]: finding for findings in several for finding in findings}.values())


def stamped(payload: bytes, cursor: Cursor) -> bytes:
    """The same frames with another cursor, without decoding them."""
    data = bytearray(payload)
    position = 0
    while position < len(data):
        head = np.frombuffer(data, HEADER, 1, position)
        head["epoch"], head["first"], head["last"] = cursor.epoch, cursor.first, cursor.last
        position += int(head["bytes"][0])
    return bytes(data)
