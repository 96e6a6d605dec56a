"""What a browser may say on its socket, as JSON: {"hello": {"epoch", "last", "base"}} and {"ack": n}.

`epoch` and `last` are the feed's cursor as decimal text. `base` is a text that the server gave it last, in META or
beside the clock ({"now_ns", "base"}, each second), and says what its picture is based on. `n` counts the binary
messages drawn since the socket opened.
"""

import json
from typing import Any

from dashboard.live.numbers import from_text
from dashboard.live.viewer import Hello

MAX_CHARS = 300 * 1024  # a hello carries the base of a run with thousands of streams


class HostileError(Exception):
    """Something that no browser of ours says."""


def understand(text: str | None) -> Hello | int | None:
    """A hello, the number of messages drawn, or None for words of some later version. Raises HostileError."""
    if text is None or len(text) > MAX_CHARS:
        raise HostileError("binary or too long")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostileError("not JSON") from error
    if not isinstance(said, dict):
        raise HostileError("not an object")
    if "hello" in said:
        return _hello(said["hello"])
    return _count(said["ack"]) if "ack" in said else None


def _hello(said: Any) -> Hello:
    if not isinstance(said, dict):
        raise HostileError("hello is no object")
    base = said.get("base") or None
    try:
        numbers = None if base is None else from_text(base)
    except (ValueError, TypeError) as error:
        raise HostileError("base is not ours") from error
    return Hello(_decimal(said.get("epoch")), _decimal(said.get("last")), numbers)


def _decimal(value: Any) -> int:
    """A cursor's half: decimal text, for JavaScript's numbers hold only 53 bits."""
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 20:
        raise HostileError("not a decimal text")
    number = int(value)
    if number >= 1 << 64:
        raise HostileError("beyond 64 bits")
    return number


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise HostileError("not a count")
    return value
