"""Checks of lifecycle records: the turns of an attempt's life, and what its begin says of the run."""

import math
from collections.abc import Callable
from typing import Any

from ingest.api.columns import LIMIT
from ingest.api.texts import json_text
from roundwatch import wire

_ENDS = ("finished", "failed", "killed")
_MAX_REASON_CHARS = 4_000
_MAX_ROUNDS = (1 << 31) - 1


def checked(record: wire.Lifecycle) -> tuple[dict[str, Any], str | None]:
    """The record's data as the store takes it, and why it cannot be taken, if so. Unknown entries are passed over."""
    if record.what == "begin":
        return _begin(record.data)
    if record.what == "finish":
        state = record.data.get("state", "finished")
        if state not in _ENDS:
            return {}, f"a finish is one of {', '.join(_ENDS)}"
        return {"state": state, "reason": _reason(record.data.get("error"))}, None
    if record.what == "gone":
        return {"reason": _reason(record.data.get("reason"))}, None
    return {}, "a lifecycle record is begin, finish or gone"


def _reason(value: Any) -> str:
    if value is None:
        return ""
    return wire.cleaned(value if isinstance(value, str) else str(value), _MAX_REASON_CHARS)


def _begin(data: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    taken = {}
    for name, fault_of in _FIELDS.items():
        value = data.get(name)
        if value is None:
            continue
        fault = fault_of(value)
        if fault:
            return {}, f"{name}: {fault}"
        taken[name] = value
    return taken, None


def _name(value: Any) -> str | None:
    return wire.name_fault(value) if isinstance(value, str) else "not a text"


def _json_object(value: Any) -> str | None:
    return json_text(value, wire.MAX_CONFIG_BYTES)[1] if isinstance(value, dict) else "not an object"


def _tags(value: Any) -> str | None:
    if not isinstance(value, list) or len(value) > wire.MAX_TAGS:
        return f"not a list of at most {wire.MAX_TAGS}"
    return next((fault for tag in value if (fault := _name(tag))), None)


def _whole(most: int) -> Callable[[Any], str | None]:
    def fault(value: Any) -> str | None:
        fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
        return None if fits else f"not a whole number from 0 to {most}"

    return fault


def _figure(value: Any) -> str | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LIMIT**2
    return None if fits and math.isfinite(value) and value >= 0 else "not a number"


_FIELDS: dict[str, Callable[[Any], str | None]] = {
    "name": _name,
    "config": _json_object,
    "conditions": _json_object,
    "attempt": _json_object,
    "tags": _tags,
    "rounds": _whole(_MAX_ROUNDS),
    "model_bytes": _whole(LIMIT),
    "flops_per_item": _figure,
}
