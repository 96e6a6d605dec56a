"""Decoding a large body piece by piece: within one, nothing else of this process runs."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ingest.api.weight import MOST_PATIENT, require_weight
from ingest.store.arrivals import Fault
from roundwatch import wire

# Decoded in one go, such a text takes 20 ms at the very most.
LARGEST_PIECE = 256 << 10
# In one list: no table may have more than its batch's records can point to.
_MOST_ENTRIES = wire.MAX_RECORDS + 1_000
# Attributes that take so much as they were sent are too long however they are spelled: an escape is six bytes for one.
_LONGEST_ATTRS = 16 * wire.MAX_ATTRS_BYTES
_TOO_LONG = b'{"":"%s"}' % (b"x" * wire.MAX_ATTRS_BYTES)


@dataclass(slots=True, kw_only=True)
class _Envelope(wire.Request):
    """A request whose batches are not decoded yet."""

    batches: list[msgspec.Raw] = field(default_factory=list)  # type: ignore[assignment]


@dataclass(slots=True, kw_only=True)
class _Uncut(wire.Batch):
    """A batch whose lists of shapes and objects are not decoded yet: an entry costs as much as thirty numbers."""

    metrics: list[msgspec.Raw] = field(default_factory=list)  # type: ignore[assignment]
    attrs: list[msgspec.Raw] = field(default_factory=list)  # type: ignore[assignment]
    lifecycle: list[msgspec.Raw] = field(default_factory=list)  # type: ignore[assignment]
    drops: list[msgspec.Raw] = field(default_factory=list)  # type: ignore[assignment]
    open: list[msgspec.Raw] = field(default_factory=list)  # type: ignore[assignment]


_envelope = msgspec.json.Decoder(_Envelope)
_small = msgspec.json.Decoder(wire.Batch)
_large = msgspec.json.Decoder(_Uncut)
_entry: dict[str, msgspec.json.Decoder[Any]] = {
    "metrics": msgspec.json.Decoder(wire.Metric),
    "attrs": msgspec.json.Decoder(dict[str, Any]),
    "lifecycle": msgspec.json.Decoder(wire.Lifecycle),
    "drops": msgspec.json.Decoder(wire.Drop),
    "open": msgspec.json.Decoder(wire.OpenPhase),
}


def decode_in_pieces(text: bytes) -> wire.Request:
    """The request. Raises msgspec.DecodeError, and Fault 413 for more batches or entries than a request may have."""
    request = _envelope.decode(text)
    if len(request.batches) > wire.MAX_WORKERS:
        raise Fault(413, "too_many", f"A request may have {wire.MAX_WORKERS} batches.", "batches")
    request.batches = [_batch(raw, f"batches[{index}]") for index, raw in enumerate(request.batches)]  # type: ignore[misc]
    return request


def _batch(raw: msgspec.Raw, place: str) -> wire.Batch:
    if len(memoryview(raw)) <= LARGEST_PIECE:
        return _small.decode(raw)
    batch = _large.decode(raw)
    for name, decoder in _entry.items():
        entries = getattr(batch, name)
        if len(entries) > _MOST_ENTRIES:
            raise Fault(413, "too_many", f"A list may have {_MOST_ENTRIES} entries.", f"{place}.{name}")
        setattr(batch, name, [decoder.decode(_bounded(entry, name)) for entry in entries])
    return batch


def _bounded(entry: msgspec.Raw, name: str) -> msgspec.Raw | bytes:
    """The entry, or others of which the same is said and that cost less; raises Fault 413 where nothing can be said."""
    text = memoryview(entry)
    if name == "attrs" and len(text) > _LONGEST_ATTRS and text[0] == ord("{"):
        return _TOO_LONG
    if len(text) > LARGEST_PIECE:
        require_weight(bytes(text), MOST_PATIENT)
    return entry
