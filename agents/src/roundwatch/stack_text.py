"""What a process writes of its threads, as the attributes of an event: bounded, main thread first."""

import json
import re
from typing import Any, NamedTuple

from roundwatch import stacks, wire
from roundwatch.attributes import storable

MOST_THREADS, MOST_FRAMES, MOST_FRAMES_OF_OTHERS = 32, 60, 20
MOST_CHARS = 120
MOST_BYTES = wire.MAX_ATTRS_BYTES - 1_024  # the rest is for what is said beside the threads
THREAD = re.compile(r"(?:Thread|Stack)(?: \[(.*)\])? \(most recent call first\):")
FRAME = re.compile(r'  File (?:"(.*)"|\?\?\?), line (\d+|\?\?\?) in (.*)')
PACKAGES = re.compile(r".*/(?:site|dist)-packages/")
STANDARD = re.compile(r".*/lib/python3\.\d+[a-z]?/")
LOCKS = "threading.py"  # of the standard library, where no other call takes long
MAIN, UNNAMED = "main", "(unnamed)"
Frame = tuple[str, int, str]  # file, line (0: not known), function


class Thread(NamedTuple):
    """One thread: its frames, innermost first."""

    name: str
    frames: list[Frame]


def by_python(text: str) -> list[Thread]:
    """All threads, main thread first, once Python has told of them completely; none before."""
    told = text.rpartition(stacks.BEGIN)[2]
    return _threads(told) if stacks.BEGIN in text and told.endswith(stacks.END) else []


def by_dumper(text: str) -> list[Thread]:
    """The main thread alone, as CPython's dumper tells of it."""
    return _threads(text.partition(stacks.BEGIN)[0])[:1] if text.endswith("\n") else []


def waits_for_a_lock(thread: Thread) -> bool:
    """Whether a thread is in Python's own wait for one, which goes on by itself after any signal."""
    return bool(thread.frames) and thread.frames[0][0] == LOCKS


def _threads(text: str) -> list[Thread]:
    found: list[Thread] = []
    for line in text.splitlines():
        if head := THREAD.match(line):
            found.append(Thread(MAIN if head[1] is None else head[1] or UNNAMED, []))
        elif found and (frame := FRAME.match(line)):
            number = int(frame[2]) if frame[2].isdigit() else 0
            found[-1].frames.append((short(frame[1] or "?"), number, frame[3][:MOST_CHARS]))
    return [thread for thread in found if thread.frames or len(found) > 1]


def short(path: str) -> str:
    """A file within its package, else with the folder around it: the rest of the path tells of a host, not of code."""
    for root in (PACKAGES, STANDARD):
        if root.match(path):
            return root.sub("", path)[-MOST_CHARS:]
    return "/".join(path.split("/")[-2:])[-MOST_CHARS:]


def attributes(threads: list[Thread], beside: dict[str, Any]) -> bytes:
    """The event's attributes as JSON that the server takes; `beside` stands next to the threads.

    `threads` holds {"name", "frames": [[file, line, function], ...]}, main thread first; `left_out` counts threads
    that found no room, and `more` of a thread its frames that did not.
    """
    entries = [_entry(thread, 0 if at else MOST_FRAMES) for at, thread in enumerate(threads[:MOST_THREADS])]
    while len(json.dumps(entries)) > MOST_BYTES:
        if len(entries) > 1:
            entries.pop()
        else:
            frames = entries[0]["frames"]
            entries[0]["more"] += len(frames) - len(frames) // 2
            del frames[len(frames) // 2 :]
    left_out = len(threads) - len(entries)
    return storable(json.dumps({**beside, "threads": entries, "left_out": left_out}).encode())


def _entry(thread: Thread, most: int) -> dict[str, Any]:
    most = most or MOST_FRAMES_OF_OTHERS
    frames = [list(frame) for frame in thread.frames[:most]]
    return {"name": thread.name[:MOST_CHARS], "frames": frames, "more": len(thread.frames) - len(frames)}
