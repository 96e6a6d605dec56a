"""A ZIP archive that grows in pieces: all that is known of it is kept outside, so that anybody can go on with it.

By PKWARE's APPNOTE 6.3; sizes are kept as ZIP64, in 64 bits, for nobody knows beforehand how large an entry becomes.
"""

import struct
from dataclasses import asdict, dataclass
from typing import BinaryIO

_TIME, _DATE = 0, 0x0021  # the first day that a ZIP can tell: what it holds has times of its own
_VERSION, _IS_UTF_8 = 45, 0x0800
_HUGE = 0xFFFFFFFF
STORED, DEFLATED = 0, 8


@dataclass(slots=True)
class Entry:
    """A file in the archive: where it begins, CRC-32 and length of what it holds, and the bytes that it takes here."""

    name: str
    method: int
    at: int
    crc: int = 0
    length: int = 0
    packed: int = 0

    @property
    def head(self) -> bytes:
        """What stands before its bytes."""
        name = self.name.encode()
        extra = struct.pack("<HHQQ", 1, 16, self.length, self.packed)
        return (
            struct.pack(
                "<4s5H3L2H", b"PK\x03\x04", _VERSION, _IS_UTF_8, self.method, _TIME, _DATE, self.crc, _HUGE, _HUGE,
                len(name), len(extra),
            )
            + name
            + extra
        )  # fmt: skip

    @property
    def listed(self) -> bytes:
        """Its line in the list at the archive's end."""
        name = self.name.encode()
        extra = struct.pack("<HHQQQ", 1, 24, self.length, self.packed, self.at)
        return (
            struct.pack(
                "<4s6H3L5H2L", b"PK\x01\x02", _VERSION, _VERSION, _IS_UTF_8, self.method, _TIME, _DATE, self.crc,
                _HUGE, _HUGE, len(name), len(extra), 0, 0, 0, 0, _HUGE,
            )
            + name
            + extra
        )  # fmt: skip

    def told(self) -> dict[str, int | str]:
        """All of it as JSON has it."""
        return asdict(self)


def write_again(file: BinaryIO, entry: Entry) -> None:
    """Put what is known now of an entry into its place before its bytes; the file's position stays."""
    here = file.tell()
    file.seek(entry.at)
    file.write(entry.head)
    file.seek(here)


def tail(entries: list[Entry], at: int) -> bytes:
    """The list of the entries and what ends the archive; the list begins at byte `at`."""
    listed = b"".join(entry.listed for entry in entries)
    count, size = len(entries), len(listed)
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, _VERSION, _VERSION, 0, 0, count, count, size, at)
    where = struct.pack("<4sLQL", b"PK\x06\x07", 0, at + size, 1)
    short = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), _HUGE, _HUGE, 0)
    return listed + end + where + short
