"""Deflate in pieces: what is written can be put aside after any of them and gone on with by another process.

Each piece ends on a byte and refers to nothing before it: all of them in a row are one deflate stream (RFC 1951).
"""

import struct
import zlib
from dataclasses import dataclass

# RFC 1952: magic, deflate, no flags, no time, no extra flags, unknown system.
GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST_BLOCK = b"\x03\x00"  # an empty one, marked as the last


@dataclass(slots=True)
class Sum:
    """What a reader will check: the CRC-32 and the length in bytes of what was put in."""

    crc: int = 0
    length: int = 0


class Deflater:
    """Makes one piece; `total` goes on from the pieces before it."""

    def __init__(self, total: Sum) -> None:
        """Begin a piece."""
        self._total = total
        self._stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)

    def add(self, data: bytes) -> bytes:
        """Put in some bytes; returns what comes out of it so far."""
        self._total.crc = zlib.crc32(data, self._total.crc)
        self._total.length += len(data)
        return self._stream.compress(data)

    def pause(self) -> bytes:
        """The rest of the piece; another one may follow."""
        return self._stream.flush(zlib.Z_FULL_FLUSH)

    def end(self) -> bytes:
        """The rest of the piece, with which the stream ends."""
        return self.pause() + _LAST_BLOCK


def gzip_tail(total: Sum) -> bytes:
    """What ends a gzip file after its deflate stream."""
    return struct.pack("<LL", total.crc, total.length & 0xFFFFFFFF)
