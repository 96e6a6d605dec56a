"""The layout of a ring file, agreed between the process that writes it and the shipper that reads it.

A ring file holds, one after another: a header page, the stream's identity as JSON, a table of progress, a table of
names, a heap for texts (a slot refers to one by its position, which only grows, and its length), and the slots. Every
word has one writer: the training process, or its shipper.
"""

import struct
import zlib
from typing import NamedTuple

from roundwatch import slots

MAGIC = b"RWRING\x00\x01"  # its last byte is the version of this layout
WITH_STEPS = b"RWRING\x00\x02"  # the same, with step records, of which older shippers know nothing
HEADER = struct.Struct("<8s4q")  # magic, slots, heap bytes, names bytes, identity bytes

# Words of the header page, by their index. They are written through a memoryview, as one store each: struct clears what
# it is about to write, and the other process, or whoever looks after a SIGKILL, would see zeros.
# Written by the shipper.
TAIL = 8  # the first number that the shipper has not taken yet: slots below it are free
HEAP_TAIL = 9  # the same for the heap, in bytes
BEAT = 10  # the monotonic time at which the shipper last looked
ORDERS = 11  # 1: the run is gone, write no more
NEXT = 12  # what TAIL is in the stream's own numbers, which count what the shipper put between
REFUSED = 13  # 1: the server refuses the token
CHECK = 14  # `check` of the three, written last; 0 where no shipper has written it
# Written by the training process.
NAMES_END = 16  # bytes of the names table that are complete
CLOSED = 17  # 1 + how it ended (index into ENDS): finish() has been called; nothing follows
ENDS = ("finished", "failed", "killed")
STACKS = 18  # how it is asked for its thread stacks, three words: what `stacks.offer` says; zeros by older versions
STACKS_WORDS = 3
LOST = 24  # ranges of numbers that found no room: each first, end, from_ns, to_ns; empty where end <= first
LOST_WORDS = 4
LOST_ENTRIES = 64
NO_TEXT = -1  # the reference of a text that found no room
LOST_SPACE = LOST_WORDS * LOST_ENTRIES

# What of the step that goes on is over, as `parts` has it. Written by the training process:
STEP = 294  # 1 + number of the start of the last step; 0 for none
STEP_ENTRIES = 295  # how many entries are complete
ENTRIES = 296
ENTRY_WORDS = 3
MOST_ENTRIES = 72  # to the end of the page
# And by the shipper, which tells of them while the step goes on:
TOLD_STEP = 288  # STEP of the last one of which something was told
TOLD_ENTRIES = 289
TOLD_AT = 290  # the first number in the stream that they got

PAGE = 4096
IDENTITY_AT = PAGE
IDENTITY_BYTES = 2 * PAGE
PROGRESS = struct.Struct("<qd")  # number of the phase's start, share done
PROGRESS_AT = IDENTITY_AT + IDENTITY_BYTES
PROGRESS_ENTRIES = 256
NAMES_AT = PROGRESS_AT + PROGRESS_ENTRIES * PROGRESS.size
NAME = struct.Struct("<HH")  # number of the name, bytes of JSON that follow


def check(tail: int, heap_tail: int, number: int) -> int:
    """What CHECK holds where TAIL, HEAP_TAIL and NEXT are as the shipper left them. Never 0."""
    return zlib.crc32(struct.pack("<3q", tail, heap_tail, number)) + 1


class Sizes(NamedTuple):
    """How large the parts are that may differ; `slots` is a power of two."""

    slots: int
    heap: int
    names: int

    @property
    def heap_at(self) -> int:
        return NAMES_AT + self.names

    @property
    def slots_at(self) -> int:
        return self.heap_at + self.heap

    @property
    def total(self) -> int:
        return self.slots_at + self.slots * slots.SIZE


# The larger holds 160 s of 200 records a second; the smaller is for a container's 64 MiB of shared memory.
SIZES = (Sizes(32_768, 1 << 20, 64 << 10), Sizes(8_192, 512 << 10, 32 << 10))
