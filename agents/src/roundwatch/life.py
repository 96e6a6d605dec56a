"""What is known of one stream after its last record: names, open phases, whether it has ended. Pure."""

import json
from collections.abc import Iterable
from typing import Any

from roundwatch import slots
from roundwatch.segments import end_of
from roundwatch.slots import Record

ABORTED = 2
UNKNOWN = "its process ended without a word"


class Life:
    """Grows record by record; `snapshot` and `restore` carry it from one segment to the next."""

    def __init__(self) -> None:
        self.next = 0
        self.inserted = 0  # how many of the records so far the ring did not hold
        self._starts: dict[int, int] = {}  # open phases: the ring's number of the start, the stream's
        self.names: dict[int, tuple[str, ...]] = {}
        self.open: dict[int, Record] = {}
        self.finished = False
        self.gone = False
        self.last_ns = 0

    def admit(self, record: Record) -> Record:
        """Takes in the next record of the ring; returns it in the stream's own numbers."""
        number = record.number + self.inserted
        start, parent = record.start, record.parent
        end = number
        if record.sort == slots.START:
            start, parent = number, self._starts.get(parent, -1)
        elif record.sort in (slots.END, slots.STEP):
            begun = self.open.get(self._starts.get(start, -1))
            end = end_of(record) - 1 + self.inserted
            # The start of this phase, or of the one around it, may have found no room.
            start = end if begun is None else begun.number
            parent = self._starts.get(parent, -1) if begun is None else begun.parent
        # As `_replace`, at a third of its time.
        record = Record(number, *record[1:9], start, parent, *record[11:14], self.inserted + end - number)
        self.apply(record)
        return record

    def insert(self, record: Record) -> Record:
        """Takes in a record that no ring holds, as the next of the stream; returns it with its number."""
        record = record._replace(number=self.next, inserted=self.inserted + 1)
        self.apply(record)
        return record

    def apply(self, record: Record) -> None:
        """Takes in a record in the stream's own numbers."""
        sort, end = record.sort, end_of(record)
        self.next = max(self.next, end)
        self.inserted = max(self.inserted, record.inserted)
        if sort == slots.START:
            self._begin(record)
        elif sort in (slots.END, slots.STEP):
            begun = self.open.pop(record.start, None)
            if begun is not None:
                self._starts.pop(begun.number - begun.inserted, None)
        elif sort == slots.LIFECYCLE:
            what = turn(record)[0]
            self.finished |= what == "finish"
            self.gone |= what == "gone"
        if not record.clock and sort != slots.DROP:
            self.last_ns = max(self.last_ns, record.t0 + (int(record.t1) if sort in (slots.END, slots.STEP) else 0))

    def began(self, start: int) -> Record | None:
        """The phase that is open since the ring's number `start`."""
        return self.open.get(self._starts.get(start, -1))

    def closing(self, at_ns: int, end_state: str = "", reason: str = UNKNOWN) -> list[Record]:
        """The records to insert when the writer is gone: aborted ends, innermost first, then the word on its end.

        `end_state` is how it finished, in case that the record of it was lost; `reason` why it may have not.
        """
        records = [
            begun._replace(sort=slots.END, state=ABORTED, t1=max(0, at_ns - begun.t0))
            for _, begun in sorted(self.open.items(), reverse=True)
        ]
        if not self.finished and not self.gone:
            gone = {"what": "gone", "data": {"reason": reason}}
            finish = {"what": "finish", "data": {"state": end_state}}
            records.append(lifecycle(at_ns, finish if end_state else gone))
        return records

    def snapshot(self) -> dict[str, Any]:
        """This as JSON values."""
        return {
            "names": {str(number): words for number, words in self.names.items()},
            "open": [[slots.pack(record).hex(), record.text.decode()] for record in self.open.values()],
            "inserted": self.inserted,
            "finished": self.finished,
            "gone": self.gone,
            "last_ns": self.last_ns,
        }

    def restore(self, said: dict[str, Any]) -> None:
        """The inverse of `snapshot`. Raises ValueError, KeyError or TypeError for what is no snapshot."""
        self.define((int(number), words) for number, words in said["names"].items())
        records = [slots.unpack(bytes.fromhex(slot), text.encode()) for slot, text in said["open"]]
        for record in records:
            self._begin(record)
        self.inserted = said["inserted"]
        self.finished, self.gone, self.last_ns = said["finished"], said["gone"], said["last_ns"]

    def define(self, names: Iterable[tuple[int, Iterable[str]]]) -> list[tuple[int, tuple[str, ...]]]:
        """Takes in names; returns those that were new."""
        new = [(number, tuple(words)) for number, words in names if number not in self.names]
        self.names.update(new)
        return new

    def _begin(self, record: Record) -> None:
        self.open[record.number] = record
        self._starts[record.number - record.inserted] = record.number


def lifecycle(at_ns: int, data: dict[str, Any]) -> Record:
    """A record of one turn in an attempt's life; `data` holds `what` and `data`."""
    text = json.dumps(data).encode()
    return Record(-1, slots.LIFECYCLE, 0, 0, 0, 0, 0, 0, -1, -1, -1, at_ns, 0, text)


def turn(record: Record) -> tuple[str, dict[str, Any]]:
    """(what, data) of a lifecycle record; ("damaged", {}) where its text does not tell."""
    try:
        said = json.loads(record.text)
        return str(said["what"]), dict(said["data"])
    except (ValueError, KeyError, TypeError):
        return "damaged", {}
