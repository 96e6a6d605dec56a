"""Parts of a step that goes on for long, or never ends: told from where its process has gathered them, and only once.

What is told is a record of the shipper's own. The ring's header notes of which step how much it was, and which number
in the stream it got, before it is written: a shipper that comes after sees from the stream whether it got so far.
"""

import time

from roundwatch import parts, slots
from roundwatch.reader import RingReader
from roundwatch.slots import Record
from roundwatch.streams import Stream

LONG_NS = 500_000_000  # of shorter steps their end tells everything


class Telling:
    """Of one ring and its stream."""

    def __init__(self, reader: RingReader, stream: Stream) -> None:
        self._reader, self._stream = reader, stream
        step, entries, number = reader.told()
        self._step, self._entries = (step, entries) if number < stream.life.next else (-1, 0)

    def untold(self, records: list[Record]) -> list[Record]:
        """What a ring gave; of a step record, only what was not told while the step went on."""
        return [
            parts.without(record, self._entries) if record.sort == slots.STEP and record.start == self._step else record
            for record in records
        ]

    def tell(self, *, writing: bool) -> None:
        """Tells what is over of the step that is open: where it lasts, or its process is not `writing` any more."""
        step, entries = self._reader.step()
        life = self._stream.life
        begun = life.began(step)
        if begun is None or (writing and time.monotonic_ns() - begun.t0 < LONG_NS):
            return
        told = self._entries if step == self._step else 0
        found = [part for part in parts.parts_in(entries, life.names)[0] if part.at >= told]
        if found:
            self._step, self._entries = step, len(entries) // parts.ENTRY.size
            self._reader.tell(step, self._entries, life.next)
            self._stream.insert([parts.phase_of(part, begun, life.next + at) for at, part in enumerate(found)])
