"""From the bytes of a request to its wire objects: inflate within limits, then decode with types."""

import json
import sys
import zlib
from typing import Any

import msgspec

from ingest.api.texts import finite
from ingest.store.arrivals import Fault
from roundwatch import wire

_decoder = msgspec.json.Decoder(wire.Request)
_LARGEST = int(sys.float_info.max)
_GZIP_WINDOW = 31  # zlib's spelling of "gzip header, 32 KiB window"


def inflate(body: bytes, encoding: str) -> bytes:
    """The body as sent before compression; raises Fault 413 above 8 MiB, before the excess is inflated, or 422."""
    if encoding in {"", "identity"}:
        return body
    if encoding != "gzip":
        raise Fault(422, "encoding", "Content-Encoding may be gzip or absent.", "content-encoding")
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        text = inflater.decompress(body, wire.MAX_BODY_BYTES + 1)
    except zlib.error:
        raise Fault(422, "gzip", "The body is no gzip.") from None
    if len(text) > wire.MAX_BODY_BYTES:
        raise Fault(413, "too_large", f"A body may have {wire.MAX_BODY_BYTES} bytes after inflating.")
    if not inflater.eof or inflater.unused_data:
        raise Fault(422, "gzip", "The gzip of the body is cut off, or followed by something else.")
    return text


def decode(text: bytes) -> wire.Request:
    """The request; raises Fault 422 naming the field that does not fit."""
    try:
        request = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        request = _decode_patiently(text)
    if request.version > wire.VERSION or request.version < 1:
        raise Fault(422, "version", f"This server reads version {wire.VERSION} and below.", "version")
    return request


def _decode_patiently(text: bytes) -> wire.Request:
    """Decode what the strict reader refuses as a whole though one record is at fault: lone surrogates, 1e400, NaN."""
    try:
        raw: Any = json.loads(text.decode("utf-8", "surrogatepass"))
        _word_readings(raw)
        return _finite(msgspec.convert(raw, wire.Request))
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
        raise Fault(422, "shape", message, path.removeprefix("$.").rstrip("`") or None) from None
    except (ValueError, OverflowError, RecursionError):
        raise Fault(422, "json", "The body is no JSON that can be read.") from None


def _finite(request: wire.Request) -> wire.Request:
    for batch in request.batches:
        batch.attrs = [finite(attrs) for attrs in batch.attrs]
        for record in batch.lifecycle:
            record.data = finite(record.data)
    return request


def _word_readings(raw: Any) -> None:
    """Turn readings that are whole numbers beyond any float into texts, which the check sets aside one by one."""
    for batch in _part(raw, "batches", list):
        samples = _part(batch, "samples", dict)
        values = _part(samples, "value", list)
        for index, value in enumerate(values):
            if isinstance(value, int) and abs(value) > _LARGEST:
                values[index] = str(value)


def _part(raw: Any, name: str, kind: type[Any]) -> Any:
    part = raw.get(name) if isinstance(raw, dict) else None
    return part if isinstance(part, kind) else kind()
