"""The patient reader: for bodies that the strict one refuses as a whole though one record or field is at fault."""

import json
from typing import Any

import msgspec

from ingest.api.texts import LARGEST, finite
from ingest.api.weight import MOST_PATIENT, require_weight
from ingest.store.arrivals import Fault
from roundwatch import wire

# Python reads no more than 4,300 digits of a number; what no float reaches is out of every range all the same.
_MOST_DIGITS = 400
_BEYOND: int = 10**_MOST_DIGITS


def decode_patiently(text: bytes) -> wire.Request:
    """Decode what holds lone surrogates, NaN, 1e400 or numbers of many digits, each left to the check of its record.

    Raises Fault 413 for more than can be read so, 422 naming the field that does not fit.
    """
    require_weight(text, MOST_PATIENT)
    try:
        raw: Any = json.loads(text.decode("utf-8", "surrogatepass"), parse_int=_whole)
    except (ValueError, RecursionError):
        raise Fault(422, "json", "The body is no JSON that can be read.") from None
    try:
        for batch in _part(raw, "batches", list):
            _mend(batch)
        return _finite(msgspec.convert(raw, wire.Request))
    except (msgspec.ValidationError, OverflowError) as error:
        message, _, path = str(error).partition(" - at `")
        raise Fault(422, "shape", message, path.removeprefix("$.").rstrip("`") or None) from None
    except UnicodeEncodeError:
        raise Fault(422, "shape", "A lone surrogate stands where no text is due.") from None


def _whole(digits: str) -> int:
    if len(digits) <= _MOST_DIGITS:
        return int(digits)
    return -_BEYOND if digits.startswith("-") else _BEYOND


def _mend(batch: Any) -> None:
    """Make whole numbers beyond any float, where a float is due, what the check refuses or leaves out alone."""
    values = _part(_part(batch, "samples", dict), "value", list)
    for index, value in enumerate(values):
        if _beyond_floats(value):
            values[index] = str(value)
    for phase in _part(batch, "open", list):
        if isinstance(phase, dict) and _beyond_floats(phase.get("progress")):
            phase["progress"] = None


def _beyond_floats(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > LARGEST


def _finite(request: wire.Request) -> wire.Request:
    for batch in request.batches:
        batch.attrs = [finite(attrs) for attrs in batch.attrs]
        for record in batch.lifecycle:
            record.data = finite(record.data)
    return request


def _part(raw: Any, name: str, kind: type[Any]) -> Any:
    part = raw.get(name) if isinstance(raw, dict) else None
    return part if isinstance(part, kind) else kind()
