"""One stream on its way: from a ring, or made here, into a journal; sent newest first; forgotten when stored."""

import json
import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from roundwatch import parts, segments, slots, thinning, wire
from roundwatch.journal import SEGMENT_BYTES, Journal, Kept
from roundwatch.life import UNKNOWN, Life
from roundwatch.ranges import Ranges
from roundwatch.segments import Contents, end_of
from roundwatch.slots import Record

logger = logging.getLogger("roundwatch")
RECENT = 1_000  # records kept in memory beside their journal: what is sent next, as a rule
UNSAVED = 20_000  # records kept in memory where the disk takes none
AGAIN_S = 5.0
UNCERTAIN = 1 << 20  # more numbers than a stream gets between two syncs of the disk
OURS = 60_000  # names that the shipper gives begin here: far above what a ring has room for
IDENTITY_FIELDS = {field.name for field in fields(wire.Identity)}


class Stream:
    """Not safe for two threads at once: the spool's lock guards it."""

    def __init__(self, folder: Path, said: dict[str, Any], kept: Kept | None = None) -> None:
        self.id = folder.name
        self.identity = wire.Identity(**{k: v for k, v in said["identity"].items() if k in IDENTITY_FIELDS})
        self.wall_ns, self.mono_ns, self.boot = said["wall_ns"], said["mono_ns"], said["boot"]
        self.life = Life()
        self.pending = Ranges()
        self.journal = Journal(folder, kept)
        self.alive = True  # more may come
        self.reporting = True  # its writer has neither finished nor gone
        self.seen_ns = 0  # when its writer was last known to live
        self.sent_ns = 0  # when something of it was last sent
        self.uncertain = False  # more may have been recorded and sent than the journal still knows
        self._recent: deque[Record] = deque()
        self._unsaved: list[Record] = []
        self._ours: dict[tuple[str, ...], int] = {}
        self._refused: dict[int, Record] = {}
        self._retry_at = 0.0
        self._roll = False

    @property
    def done(self) -> bool:
        """Whether it has ended and everything is stored."""
        return not self.alive and not self.pending

    @property
    def unsaved(self) -> int:
        """How many records only memory holds, because the disk did not take them."""
        return len(self._unsaved)

    @property
    def stale(self) -> bool:
        """Whether what it would send next must be read from disk."""
        top = self.pending.top()
        return top is not None and not (self._recent and self._recent[0].number <= top[1])

    def admit(self, records: Sequence[Record], names: Iterable[tuple[int, Iterable[str]]]) -> None:
        """Takes in what a ring gave, in its order. Never raises for want of disk."""
        new = self.life.define(names)
        if records or new:
            self._keep([self.life.admit(record) for record in records], new)

    def insert(self, records: Sequence[Record], names: Iterable[tuple[int, Iterable[str]]] = ()) -> None:
        """Takes in records of the shipper's own, which get the next numbers. Never raises for want of disk."""
        new = self.life.define(names)
        if records or new:
            self._keep([self.life.insert(record) for record in records], new)

    def name(self, *words: str) -> int:
        """The number of a name, or of a metric (name, unit, source), that the shipper itself uses."""
        number = self._ours.get(words)
        if number is None:
            known = (at for at, said in self.life.names.items() if said == words and at >= OURS)
            number = next(known, max(OURS - 1, *self.life.names, 0) + 1)
            self._ours[words] = number
            self.insert([], [(number, words)])
        return number

    def restore(self, life: dict[str, Any], following: Iterable[Contents], *, tail: int, number: int) -> int:
        """Goes on where a shipper before this one stopped, with the snapshot of a segment and what followed it.

        `tail` is the first number that its ring still holds, `number` the same in the stream's own; 0 without a ring.
        Returns the ring's number to go on with. Raises ValueError, KeyError, TypeError.
        """
        self.life.restore(life)
        for contents in following:
            self.life.define((known, json.loads(words)) for known, words in contents.names.items())
            for record in contents.records:
                self.life.apply(record)
        self._take_up_segments()
        if number > self.life.next:
            # What the ring gave and no segment has was damaged, or never got onto the disk.
            self.go_on(tail, number)
        self._guarded(lambda: self._begin_segment([]))
        return self.life.next - self.life.inserted

    def go_on(self, tail: int, number: int) -> None:
        """Goes on with `number` at the ring's `tail`: the numbers before it were given, and may have been sent."""
        span, self.life.inserted = number - self.life.next, number - tail
        lost = slots.drop(self.life.next, span=span, count=span, reason="not kept")
        lost = lost._replace(inserted=self.life.inserted)
        self.life.apply(lost)
        self._keep([lost], [])

    def conclude(self, at_ns: int, end_state: str = "", reason: str = UNKNOWN) -> None:
        """Its writer writes no more: ends what is open, and says how it ended, or why it may have without a word."""
        closing = self.life.closing(at_ns, end_state, reason)
        if closing and self.uncertain:
            # Numbers that the server may have already must not be given again, to other records.
            closing.insert(0, slots.drop(-1, span=UNCERTAIN, count=0, reason="power lost"))
        self.insert(closing)
        self.reporting = False

    def end(self) -> None:
        """Nothing more comes."""
        if self.alive:
            self.alive = self.reporting = False
            self._guarded(lambda: self.journal.seal(self._saved_until() - 1))

    def take(self, limit: int, text_limit: int) -> list[Record]:
        """The newest records that wait, oldest first: at most `limit`, with at most `text_limit` bytes of text."""
        top = self.pending.top()
        if top is None:
            return []
        chosen: list[Record] = []
        first, last = top
        for found in self._one_by_one(first, last):
            number, end = found.number, end_of(found)
            if number > last:
                continue
            record = self._refused.get(number, found)
            text_limit -= len(record.text)
            apart = chosen and end != chosen[-1].number
            if end <= first or len(chosen) >= limit or apart or (text_limit < 0 and chosen):
                break
            chosen.append(record)
        return chosen[::-1]

    def acknowledge(self, first: int, last: int) -> None:
        """The server has these on disk: they need not stay here."""
        self.pending.remove(first, last)
        for number in [number for number in self._refused if first <= number <= last]:
            del self._refused[number]
        for known in list(self.journal.sealed):
            if not self.pending.within(*known):
                self.journal.delete(known)
        self._forget()

    def ask_again(self, first: int, last: int) -> None:
        """The server says that it lacks these."""
        last = min(last, self.life.next - 1)
        self.pending.add(max(first, 0), last)

    def refuse(self, record: Record) -> None:
        """The server will not have this record: a drop takes its place."""
        if record.sort == slots.DROP:  # not even that: nothing can be said of it
            self.acknowledge(record.number, end_of(record) - 1)
            return
        what = thinning.sort_of(record)
        self._refused[record.number] = slots.drop(record.number, span=1, count=1, reason="refused", what=what)

    def save(self, *, at_once: bool = False) -> None:
        """Tries again to save what the disk did not take: when it is time to, or `at_once`."""
        if not self._unsaved:
            return
        if at_once:
            self._retry_at = 0.0
        self._save_later()
        if not self._unsaved and not self.alive:
            self._guarded(lambda: self.journal.seal(self.life.next - 1))

    def head(self) -> bytes:
        """All that is needed to go on with this stream: the first cells of each segment."""
        said = {
            "layout": segments.LAYOUT,
            "stream": self.id,
            "identity": asdict(self.identity),
            "wall_ns": self.wall_ns,
            "mono_ns": self.mono_ns,
            "boot": self.boot,
        }
        return segments.head_cells(json.dumps(said).encode(), json.dumps(self.life.snapshot()).encode())

    def _keep(self, records: list[Record], names: list[tuple[int, tuple[str, ...]]]) -> None:
        if self._unsaved or not self._write(records, names):
            self._unsaved += records
            self._save_later()
        if records:
            self.pending.add(records[0].number, end_of(records[-1]) - 1)
            self._recent.extend(records)
            self._forget()

    def _take_up_segments(self) -> None:
        if self.journal.open_from is not None:
            self.life.next = max(self.life.next, self.journal.open_from)
            self.pending.add(self.journal.open_from, self.life.next - 1)
            self._guarded(lambda: self.journal.seal(self.life.next - 1))
        for known in self.journal.sealed:
            self.pending.add(*known)
            self.life.next = max(self.life.next, known[1] + 1)

    def _write(self, records: Sequence[Record], names: Iterable[tuple[int, tuple[str, ...]]]) -> bool:
        """Appends to the journal, beginning segments as needed. False where the disk does not take it."""
        cells = b"".join(segments.name_cells(number, json.dumps(words).encode()) for number, words in names)
        cells += b"".join(map(segments.record_cells, records))
        journal = self.journal
        return self._guarded(lambda: self._begin_segment(records)) and self._guarded(lambda: journal.append(cells))

    def _begin_segment(self, records: Sequence[Record]) -> None:
        following = records[0].number if records else self.life.next
        # After a failure a new head says again what may not have been written.
        # The head grows with what is open; it shall be no more than half of what is written.
        if self._roll or self.journal.open_bytes >= max(SEGMENT_BYTES, 2 * self.journal.head_bytes):
            self.journal.seal(following - 1)
            self._roll = False
        if self.journal.open_from is None:
            self.journal.begin(following, self.head())

    def _guarded(self, act: Any) -> bool:
        try:
            act()
        except OSError as error:
            if self._retry_at == 0.0:
                logger.warning("spool %s: %s; records wait in memory", self.journal.folder, error)
            self._retry_at = time.monotonic() + AGAIN_S
            self._roll = True
            return False
        return True

    def _save_later(self) -> None:
        """Saves what only memory holds once the disk may take it again; drops the least of it where memory is full."""
        if time.monotonic() >= self._retry_at and self._write(self._unsaved, []):
            self._unsaved, self._retry_at = [], 0.0
            return
        for level in thinning.LEVELS:
            if len(self._unsaved) <= UNSAVED:
                return
            self._unsaved = thinning.thin(self.expanded(self._unsaved), level, "disk full")
            self._recent = deque(self._unsaved)

    def expanded(self, records: Iterable[Record]) -> list[Record]:
        """The records with each step record as those that it stands for."""
        return [one for record in records for one in parts.expanded(record, self.life.names)]

    def _one_by_one(self, first: int, last: int) -> Iterator[Record]:
        """As `_backwards`, each step record as those that it stands for."""
        for record in self._backwards(first, last):
            if record.sort == slots.STEP:
                yield from reversed(parts.expanded(record, self.life.names))
            else:
                yield record

    def _backwards(self, first: int, last: int) -> Iterable[Record]:
        """Records from the last one back, those of first .. last among them as far as one place holds them."""
        if self._recent and self._recent[0].number <= last:
            return reversed(self._recent)
        return reversed(self._stored(first, last))

    def _stored(self, first: int, last: int) -> list[Record]:
        """The records that the segment around `last` holds; a drop for numbers that are nowhere."""
        opened, saved = self.journal.open_from, self._saved_until()
        if opened is not None and opened <= last:
            if not self._guarded(lambda: self.journal.seal(saved - 1)):
                return segments.whole(self.journal.load_open().records, opened, saved - 1)
            if not self._unsaved:
                self._guarded(lambda: self._begin_segment([]))  # the last segment tells what is open: it must stay
        below = first
        for low, high in self.journal.sealed:
            if low <= last <= high:
                return segments.whole(self.journal.load((low, high)).records, low, high)
            if high < last:
                below = max(below, high + 1)
        return [slots.drop(below, span=last - below + 1, count=last - below + 1, reason="not kept")]

    def _forget(self) -> None:
        """Lets go of records in memory that are stored, or that the journal holds too."""
        wanted = next(iter(self.pending), (self.life.next, 0))[0]
        saved = self._saved_until()
        while self._recent and (
            end_of(self._recent[0]) <= wanted or (len(self._recent) > RECENT and self._recent[0].number < saved)
        ):
            self._recent.popleft()

    def _saved_until(self) -> int:
        """The first number that the journal does not hold."""
        return self._unsaved[0].number if self._unsaved else self.life.next
