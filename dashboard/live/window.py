"""The newest part of a run's feed in memory: viewers stand at places in it, and what follows a place is one message."""

from collections import deque
from dataclasses import dataclass, field

from dashboard.live.frames import Part, encode, merge, weight
from dashboard.live.numbers import Numbers, each_union
from ingest.feed.frames import Cursor

# A viewer that lags further is told to load a snapshot: what waits for the slowest one must not grow with its slowness.
MAX_BLOCKS = 300
MAX_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class Block:
    """Entries that came within one beat of the feed, merged; `epoch` and `last` say where the feed stood after them."""

    part: Part
    numbers: Numbers
    epoch: int
    last: int
    size: int


@dataclass(slots=True)
class Window:
    """Blocks are counted from 1 as they come; a viewer's place is the number of the last block that it was sent."""

    newest: int = 0
    _blocks: deque[Block] = field(default_factory=deque)
    _bytes: int = 0
    _encoded: dict[tuple[int, bool], bytes] = field(default_factory=dict)

    def add(self, part: Part, numbers: Numbers, *, epoch: int, last: int) -> None:
        """Append a block; the oldest leave when there are too many or they are too large."""
        block = Block(part, numbers, epoch, last, weight(part))
        self._blocks.append(block)
        self._bytes += block.size
        self.newest += 1
        self._encoded.clear()
        while len(self._blocks) > MAX_BLOCKS or (self._bytes > MAX_BYTES and len(self._blocks) > 1):
            self._drop()

    def forget_until(self, place: int) -> None:
        """Drop the blocks that every viewer was sent: those up to `place`."""
        while self._blocks and self._oldest <= place:
            self._drop()

    def holds(self, place: int) -> bool:
        """Whether everything after `place` is still here."""
        return place >= self._oldest - 1

    def after(self, place: int, *, in_step: bool) -> bytes:
        """Everything after `place` as one message, encoded once for all viewers that stand there.

        It carries the feed's cursor for those who are `in_step` with the feed, and none for the others.
        """
        key = (place, in_step)
        if key not in self._encoded:
            blocks = self._since(place)
            cursor = Cursor(blocks[-1].epoch, blocks[0].last, blocks[-1].last) if in_step else Cursor()
            message = encode(merge([block.part for block in blocks]), cursor)
            if sum(map(len, self._encoded.values())) + len(message) > MAX_BYTES:
                return message
            self._encoded[key] = message
        return self._encoded[key]

    def numbers_after(self, place: int) -> Numbers:
        """The stream numbers that the blocks after `place` tell of."""
        return each_union(*(block.numbers for block in self._since(place)))

    @property
    def size(self) -> int:
        """Bytes of columns that are held."""
        return self._bytes

    @property
    def _oldest(self) -> int:
        return self.newest - len(self._blocks) + 1

    def _since(self, place: int) -> list[Block]:
        return [block for number, block in enumerate(self._blocks, self._oldest) if number > place]

    def _drop(self) -> None:
        self._bytes -= self._blocks.popleft().size
