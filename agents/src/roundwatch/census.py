"""A census of the tensors that are alive: by device, dtype and size, with how long each group has been there.

It pauses the training, and is told with how long: an event `census`. There is at most one in EVERY_S, it takes one part
in SHARE of the time at most, and walking stops after LIMIT_S.
"""

import gc
import sys
import threading
import time
from bisect import bisect
from dataclasses import dataclass, fields
from typing import Any

from roundwatch import slots
from roundwatch.attributes import attributes
from roundwatch.misuse import leave_out
from roundwatch.phases import Recorder

NAME = "census"
EVERY_S = 10.0
SHARE = 100
LIMIT_S = 0.05
MOST_GROUPS = 20
MOST_KNOWN = 20_000  # blocks of memory whose age is kept: the largest at the first census, then what comes
OLD_ROUNDS = 2  # as what `track` calls retained
SIZES = (0, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 30, 1 << 34)


@dataclass(slots=True)
class Group:
    """Tensors of one device, dtype and class of size; `bytes` counts memory that several share once.

    `new_bytes` was not there at the census before, `old_bytes` is known for OLD_ROUNDS or more; `oldest_rounds` is the
    age of what is known longest.
    """

    tensors: int = 0
    storages: int = 0
    bytes: int = 0
    new_bytes: int = 0
    old_bytes: int = 0
    oldest_rounds: int = 0

    def add(self, tensors: int, size: int, age: int | None) -> None:
        """Counts a block of memory; `age` in rounds is below 0 where it is new, None where it is not kept."""
        self.tensors += tensors
        self.storages += 1
        self.bytes += size
        if age is not None:
            self.new_bytes += size if age < 0 else 0
            self.old_bytes += size if age >= OLD_ROUNDS else 0
            self.oldest_rounds = max(self.oldest_rounds, age)

    def take_up(self, other: "Group") -> None:
        """Counts all of another group too."""
        oldest = max(self.oldest_rounds, other.oldest_rounds)
        for part in fields(Group):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))
        self.oldest_rounds = oldest

    def said(self) -> dict[str, int]:
        """As attributes."""
        return {part.name: getattr(self, part.name) for part in fields(Group)}


Groups = dict[tuple[str, str, int], Group]  # by device, dtype and the class of its size


class Census:
    """The censuses of one run: when it is asked, and with `each_round` where a round ends."""

    def __init__(self, recorder: Recorder, following: int, *, each_round: bool) -> None:
        self._recorder, self._each_round = recorder, each_round
        self._next, self._begun = following, 0
        self._before: int | None = None  # rounds begun at the last one
        self._not_before_ns = self._left_out = 0
        self._lock = threading.Lock()  # never waited for: who finds it taken leaves its census out
        self._ages: Any = None

    def at_boundary(self, following: int) -> None:
        """A round has begun or ended; `following` is the index after the newest, which tells a begin."""
        if following != self._next:
            self._next = following
            self._begun += 1
        elif self._each_round and _has_torch():
            self._take(asked=False)

    def take(self) -> None:
        """One now, where it is not too soon after the last."""
        if _has_torch():
            self._take(asked=True)
        else:
            leave_out("census() counts tensors of torch, which nothing here has imported: it is left out")

    def close(self) -> None:
        """Lets go of what it remembers."""
        if self._ages is not None and self._lock.acquire(blocking=False):
            self._ages.clear()
            self._lock.release()

    def _take(self, *, asked: bool) -> None:
        began = time.monotonic_ns()
        if began < self._not_before_ns or not self._lock.acquire(blocking=False):
            self._left_out += asked
            return
        try:
            said = self._found()
            ended = time.monotonic_ns()
            self._write(began, {"seconds": (ended - began) / 1e9, **said})
        finally:
            ended = time.monotonic_ns()
            self._not_before_ns = ended + max(int(EVERY_S * 1e9), (ended - began) * SHARE)
            self._lock.release()

    def _write(self, began_ns: int, said: dict[str, Any]) -> None:
        ring, where = self._recorder.ring, self._recorder.here().ground.where
        head = slots.head(slots.EVENT, ring.name(NAME))
        ring.put_text(attributes(said), head, where, -1, -1, began_ns, 0)

    def _found(self) -> dict[str, Any]:
        from roundwatch.torch import tensors  # noqa: PLC0415 - only where a training has torch

        self._ages = self._ages or tensors.Ages(MOST_KNOWN)
        self._ages.forget_the_gone()
        seen = tensors.living(LIMIT_S)
        groups, ageless = self._grouped(seen.storages)
        total = Group()
        for group in groups.values():
            total.take_up(group)
        told: dict[str, Any] = total.said() | _told_of(groups)
        if self._before is not None:
            told["rounds_since"] = self._begun - self._before
        self._before = self._begun
        told |= {"old_rounds": OLD_ROUNDS, "objects": seen.objects}
        beside = {
            "cut_of_objects": seen.all_objects if seen.cut else 0,
            "unread": seen.unread,
            "ageless": ageless,
            "frozen": gc.get_freeze_count(),
            "left_out": self._left_out,
            "allocated": tensors.allocated({device for device, _, _ in groups}),
        }
        self._left_out = 0
        return told | {name: value for name, value in beside.items() if value}

    def _grouped(self, storages: dict[int, Any]) -> tuple[Groups, int]:
        """The groups, and how many blocks of memory are of an age that is not kept."""
        groups: Groups = {}
        ageless = 0
        for at, storage in sorted(storages.items(), key=lambda item: -item[1].bytes):
            known = self._ages.of(at, storage.handle, self._begun)
            ageless += known is None
            size = bisect(SIZES, storage.bytes) - 1
            group = groups.setdefault((storage.device, storage.dtype, size), Group())
            group.add(storage.tensors, storage.bytes, known)
        return groups, ageless


def _told_of(groups: Groups) -> dict[str, Any]:
    """The groups that hold most, each with its bounds in bytes, and what all others hold together."""
    ordered = sorted(groups.items(), key=lambda item: (-item[1].bytes, -item[1].tensors))
    told: dict[str, Any] = {"groups": [_described(*item) for item in ordered[:MOST_GROUPS]]}
    if left := ordered[MOST_GROUPS:]:
        others = Group()
        for _, group in left:
            others.take_up(group)
        told["others"] = {"groups": len(left), **others.said()}
    return told


def _described(key: tuple[str, str, int], group: Group) -> dict[str, Any]:
    device, dtype, size = key
    bounds = {"from_bytes": SIZES[size]}
    if size + 1 < len(SIZES):
        bounds["below_bytes"] = SIZES[size + 1]
    return {"device": device, "dtype": dtype, **bounds, **group.said()}


def _has_torch() -> bool:
    """Whether something has imported torch: we never do, and wait for nobody who does."""
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)
