"""From the bytes of a request to its wire objects: inflate within limits, then decode with types."""

import zlib

import msgspec

from ingest.api.patience import decode_patiently
from ingest.api.pieces import LARGEST_PIECE, decode_in_pieces
from ingest.api.weight import require_weight
from ingest.store.arrivals import Fault
from roundwatch import wire

_decoder = msgspec.json.Decoder(wire.Request)
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
    """The request; raises Fault 422 naming the field that does not fit, 413 for more than any may hold."""
    require_weight(text)
    try:
        request = _decoder.decode(text) if len(text) <= LARGEST_PIECE else decode_in_pieces(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        request = decode_patiently(text)
    if request.version > wire.VERSION or request.version < 1:
        raise Fault(422, "version", f"This server reads version {wire.VERSION} and below.", "version")
    return request
