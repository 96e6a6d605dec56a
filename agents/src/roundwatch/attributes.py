"""Attributes and configurations as JSON: forgiving while a training runs, strict once, at its start."""

import dataclasses
import json
import math
from collections.abc import Mapping
from itertools import islice
from json.encoder import encode_basestring_ascii as quote
from pathlib import PurePath
from typing import Any

from roundwatch import misuse, wire

NUMBERS = "nbytes", "items"  # attributes that are added up
MAX_DEPTH = 20
MAX_TEXT = 1_024
MAX_ITEMS = 2_000
NUMBER_LIMIT = 1 << 63  # beyond it neither Postgres nor a browser keeps an integer


def attributes(values: Mapping[str, Any]) -> bytes:
    """The attributes of a phase or event as JSON of at most 16 KiB and 2,000 items.

    Never raises, and walks no further than that: what has no form becomes text, what is too much is told in its place.
    """
    try:
        left = Room()
        for name in NUMBERS:
            if name in values and type(values[name]) is not int:
                _look_at(name, values[name])
        text = f"{{{','.join([f'{quote(str(key))}:{_text(value, left)}' for key, value in values.items()])}}}".encode()
    except TooMuchError as error:
        return _refused(str(error))
    except Exception as error:  # noqa: BLE001 - a value's own code failed; the training must not notice
        return _refused(f"could not be encoded: {type(error).__name__}")
    if len(text) > wire.MAX_ATTRS_BYTES:
        return _refused(f"larger than {wire.MAX_ATTRS_BYTES} bytes")
    return storable(text)


def _look_at(name: str, value: Any) -> None:
    # Not `real`: to have a device's scalar once more would wait for the device once more.
    if not isinstance(value, int | float) and (not hasattr(value, "item") or getattr(value, "shape", None) != ()):
        misuse.tell_once(f"{name} is no number, but a {type(value).__name__}: it is shown, and not added up")


def configuration(config: Any) -> Any:
    """A run's configuration as plain JSON values: mappings, dataclasses and namespaces become objects.

    Raises ValueError or TypeError with the path to what cannot be encoded, or when the whole is above 256 KiB.
    """
    plain = {} if config is None else _strict(config, "config", MAX_DEPTH)
    if not isinstance(plain, dict):
        raise TypeError(f"config must be a mapping, a dataclass or a namespace, not {type(config).__name__}")
    size = len(json.dumps(plain))
    if size > wire.MAX_CONFIG_BYTES:
        raise ValueError(f"config is {size} bytes of JSON, more than {wire.MAX_CONFIG_BYTES}")
    return plain


def storable(text: bytes) -> bytes:
    """JSON in ASCII without the characters that no server keeps: they are replaced, in keys as well."""
    if b"\\u0000" not in text and b"\\ud" not in text:
        return text
    return json.dumps(_storable(json.loads(text))).encode()


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return wire.cleaned(value, len(value))
    if isinstance(value, dict):
        return {wire.cleaned(key, len(key)): _storable(inner) for key, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value


def items(values: Any) -> list[tuple[Any, Any]] | None:
    """A mapping's or pairs' entries, at most one beyond 2,000; None for what is neither. Never raises."""
    try:
        pairs = values.items() if hasattr(values, "items") else values
        return [(name, value) for name, value in islice(pairs, MAX_ITEMS + 1)]
    except Exception:  # noqa: BLE001 - whatever was given, a training goes on
        return None


def real(value: Any) -> float | None:
    """A number (also a numpy or torch scalar) as a float, which may be nan or infinite; None for what is none."""
    try:
        number = value if isinstance(value, int | float) else scalar(value)
        return None if number is None else float(number)
    except Exception:  # noqa: BLE001 - a value's own code failed; the training must not notice
        return None


def whole(value: Any) -> int | None:
    """A number of nanoseconds since 1970 that fits a slot; None for what is none."""
    number = real(value)
    return int(value) if number is not None and 0 <= number < NUMBER_LIMIT - 1024 else None


def ratio(done: Any, total: Any) -> float | None:
    """done/total between 0 and 1; None where they say nothing."""
    part, whole_ = real(done), real(total)
    if part is None or not whole_ or not math.isfinite(part / whole_):
        return None
    return min(max(part / whole_, 0.0), 1.0)


class TooMuchError(Exception):
    """There is no room for all of what was given."""


class Room:
    """How much of one record's attributes may still be walked."""

    __slots__ = ("_chars", "_items")

    def __init__(self) -> None:
        self._items, self._chars = MAX_ITEMS, wire.MAX_ATTRS_BYTES

    def take(self, chars: int = 1) -> None:
        """One more item, of so many characters. Raises TooMuchError."""
        self._items -= 1
        self._chars -= chars
        if self._chars < 0:
            raise TooMuchError(f"larger than {wire.MAX_ATTRS_BYTES} bytes")
        if self._items < 0:
            raise TooMuchError(f"more than {MAX_ITEMS} items")


def _text(value: Any, left: Room) -> str:
    """One value as JSON; the usual sorts without the detour, which costs several times as much."""
    kind = type(value)
    if kind is str:
        return quote(value[:MAX_TEXT])
    if kind is int and -NUMBER_LIMIT <= value < NUMBER_LIMIT:
        return str(value)
    return json.dumps(_lenient(value, MAX_DEPTH, left))


def _refused(why: str) -> bytes:
    return json.dumps({"roundwatch_attributes": why}).encode()


def _lenient(value: Any, depth: int, left: Room) -> Any:
    """A JSON value for anything: numbers stay numbers, containers are walked, the rest is told by its text."""
    left.take()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _part(value, left)
    if isinstance(value, int | float):
        return _number(value)
    if depth and isinstance(value, Mapping):
        return {_part(str(key), left): _lenient(inner, depth - 1, left) for key, inner in value.items()}
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_lenient(inner, depth - 1, left) for inner in value]
    number = scalar(value)
    return _part(_told(value), left) if number is None else _number(number)


def _part(text: str, left: Room) -> str:
    left.take(min(len(text), MAX_TEXT))
    return text[:MAX_TEXT]


def _told(value: Any) -> str:
    """A value's text; of what holds very much only how much: its text would take long to make."""
    try:
        size = len(value)
    except Exception:  # noqa: BLE001 - most things have no length
        size = 0
    return f"{type(value).__name__} of {size} items" if size > MAX_ITEMS else str(value)


def _number(value: float) -> Any:
    if isinstance(value, int):
        if value.bit_length() > MAX_TEXT:
            return f"a number of {value.bit_length()} bits"
        return int(value) if -NUMBER_LIMIT <= value < NUMBER_LIMIT else str(value)
    return float(value) if math.isfinite(value) else str(float(value))


def scalar(value: Any) -> int | float | None:
    """The number inside a numpy or torch scalar; None where there is none."""
    item = getattr(value, "item", None)
    if getattr(value, "shape", None) not in ((), None) or not callable(item):
        return None
    inner = item()
    return inner if isinstance(inner, int | float) else None


def _strict(value: Any, path: str, depth: int) -> Any:
    if not depth:
        raise ValueError(f"{path} is nested too deep, or contains itself")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif type(value).__name__ == "Namespace":
        value = vars(value)
    if isinstance(value, Mapping):
        return {_key(key, path): _strict(inner, f"{path}[{key!r}]", depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_strict(inner, f"{path}[{index}]", depth - 1) for index, inner in enumerate(value)]
    if isinstance(value, PurePath):
        return str(value)
    number = scalar(value)
    if number is None:
        raise TypeError(f"{path} is a {type(value).__name__}, which cannot be recorded; give its text or number")
    return _number(number)


def _key(key: Any, path: str) -> str:
    if isinstance(key, str | int | float | bool) or key is None:
        return str(key)
    raise TypeError(f"{path} has a key of type {type(key).__name__}; keys are texts")
