"""Which values from outside can be kept as JSON; the rule of names is the wire's, so that both ends share it."""

import math
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from roundwatch import wire

# The largest whole number that a float reaches.
LARGEST = int(sys.float_info.max)


def json_text(value: Any, limit: int) -> tuple[bytes | None, str | None]:
    """A value as the JSON that Postgres shall keep, or None and the reason why it cannot."""
    try:
        text = msgspec.json.encode(value)
    except (UnicodeEncodeError, ValueError, RecursionError):
        return None, "attributes hold a character that cannot be stored"
    if len(text) > limit:
        return None, f"attributes are longer than {limit} bytes"
    # Cheap first: the escape is rare, and may be the harmless text backslash-u-0000.
    if b"\\u0000" in text and _holds_nul(value):
        return None, "attributes hold a character that cannot be stored"
    return text, None


def finite(value: Any) -> Any:
    """The value with the texts nan, inf and -inf for the numbers that no float is, and JSON often has no form for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and abs(value) > LARGEST:
        return "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list) else value


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_holds_nul(part) for part in value)


def shown(value: Any, limit: int = 500) -> Any:
    """A refused value in a form that can be stored beside the reason."""
    if isinstance(value, str):
        return wire.cleaned(value, limit)
    if isinstance(value, Mapping):
        return {wire.cleaned(str(key), limit): shown(part, limit) for key, part in list(value.items())[:50]}
    if isinstance(value, list):
        return [shown(part, limit) for part in value[:50]]
    return (
        value
        if isinstance(value, bool | int | None) and (value is None or abs(value) < 1 << 63)
        else str(value)[:limit]
    )
