"""What CPython's dumper writes of a process's threads, as the attributes of an event: bounded, main thread first."""

import json
import re
from typing import Any

from roundwatch import wire
from roundwatch.attributes import storable

MOST_THREADS, MOST_FRAMES, MOST_FRAMES_OF_OTHERS = 32, 60, 20
MOST_CHARS = 120
MOST_BYTES = wire.MAX_ATTRS_BYTES - 1_024  # the rest is for what is said beside the threads
THREAD = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+)(?: \[(.*)\])? \(most recent call first\):")
FRAME = re.compile(r'  File (?:"(.*)"|\?\?\?), line (\d+|\?\?\?) in (.*)')
PACKAGES = re.compile(r".*/(?:site|dist)-packages/")
STANDARD = re.compile(r".*/lib/python3\.\d+[a-z]?/")
Frame = tuple[str, int, str]  # file, line (0: not known), function; innermost first
Found = dict[int, tuple[str, list[Frame]]]


def threads(text: str) -> Found:
    """Name ("" mostly: Pythons before 3.14 do not tell it) and frames by the thread's number, in the dump's order."""
    found: Found = {}
    frames: list[Frame] = []
    for line in text.splitlines():
        if head := THREAD.match(line):
            frames = []
            found[int(head[1], 16)] = (head[2] or "", frames)
        elif frame := FRAME.match(line):
            number = int(frame[2]) if frame[2].isdigit() else 0
            frames.append((short(frame[1] or "?"), number, frame[3][:MOST_CHARS]))
    return found


def whole(text: str, main: int) -> bool:
    """Whether the dump seems complete: the main thread, which was there first, comes last."""
    known = threads(text)
    return text.endswith("\n") and main in known and bool(known[main][1])


def short(path: str) -> str:
    """A file within its package, else with the folder around it: the rest of the path tells of a host, not of code."""
    for root in (PACKAGES, STANDARD):
        if root.match(path):
            return root.sub("", path)[-MOST_CHARS:]
    return "/".join(path.split("/")[-2:])[-MOST_CHARS:]


def attributes(found: Found, main: int, beside: dict[str, Any]) -> bytes:
    """The event's attributes as JSON that the server takes; `beside` stands next to the threads.

    `threads` holds {"name", "frames": [[file, line, function], ...]}, main thread first, then the oldest; `left_out`
    counts threads that found no room, and `more` of a thread its frames that did not.
    """
    order = [main] * (main in found) + [ident for ident in reversed(found) if ident != main]
    entries = [_entry("main" if ident == main else "", place, *found[ident]) for place, ident in enumerate(order, 1)]
    del entries[MOST_THREADS:]
    while len(json.dumps(entries)) > MOST_BYTES:
        if len(entries) > 1:
            entries.pop()
        else:
            frames = entries[0]["frames"]
            entries[0]["more"] += len(frames) - len(frames) // 2
            del frames[len(frames) // 2 :]
    left_out = len(order) - len(entries)
    return storable(json.dumps({**beside, "threads": entries, "left_out": left_out}).encode())


def _entry(role: str, place: int, name: str, frames: list[Frame]) -> dict[str, Any]:
    most = MOST_FRAMES if role else MOST_FRAMES_OF_OTHERS
    called = role or name[:MOST_CHARS] or f"thread {place}"
    return {"name": called, "frames": [list(frame) for frame in frames[:most]], "more": max(0, len(frames) - most)}
