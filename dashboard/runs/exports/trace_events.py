"""The events of a Chrome trace, as text: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ingest.models import Round

Event = dict[str, Any]

_encode = msgspec.json.Encoder().encode


def head(about: dict[str, str], events: Iterable[Event]) -> bytes:
    """The trace's begin with its first events, of which there is at least one."""
    opened = _encode({"displayTimeUnit": "ms", "otherData": about})[:-1] + b',"traceEvents":[\n'
    return opened + b",\n".join(map(_encode, events))


def more(events: Iterable[Event]) -> bytes:
    """Further events."""
    return b"".join(b",\n" + _encode(event) for event in events)


TAIL = b"\n]}\n"


def process(pid: int, name: str, order: int) -> tuple[Event, Event]:
    """What a process is called, and where it stands among the others."""
    return (
        {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}},
        {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": order}},
    )


def thread(pid: int, tid: int, name: str) -> Event:
    """What a thread is called."""
    return {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}


def bar(pid: int, tid: int, name: str, category: str, begin_us: int, end_us: int, told: Event) -> Event:
    """Something that lasts."""
    return {
        "ph": "X", "pid": pid, "tid": tid, "name": name, "cat": category, "ts": begin_us, "dur": end_us - begin_us,
        "args": told,
    }  # fmt: skip


def instant(pid: int, tid: int, name: str, at_us: int, told: Event) -> Event:
    """Something that happens, on its thread."""
    return {
        "ph": "i", "s": "t", "pid": pid, "tid": tid, "name": name, "cat": "event", "ts": at_us, "args": told,
    }  # fmt: skip


def counter(pid: int, name: str, at_us: int, value: float) -> Event:
    """A reading of a process."""
    return {"ph": "C", "pid": pid, "name": name, "ts": at_us, "args": {"value": value}}


def round_name(row: Round) -> str:
    """What the bar of a round is called."""
    again = f" (try {row.generation + 1})" if row.generation else ""
    return f"round {row.index}{again}{'' if row.closed else ' (open)'}"
