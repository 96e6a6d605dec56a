"""The tensors that Python objects are there for, with the memory that each stands on.

They are found among all that the cyclic collector knows, and read where torch itself keeps what they are: no code of a
subclass, a mode or a class runs, nothing in memory is looked at, and nothing is copied or waited for. What nobody in
Python has ever asked for is not seen, as what autograd keeps for the backward pass; nor what `gc.freeze` has set aside.
"""

import gc
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress, islice
from typing import Any

import torch

from roundwatch.misuse import ours

GENERATIONS = (0, 1, 2)
PART = 2_000  # objects between two looks at the clock
NEW = -1
_c: Any = torch._C  # noqa: SLF001 - what a subclass cannot override stands there alone
# As torch's own class has them, whatever a subclass says.
_storage, _dtype, _address = _c.TensorBase.untyped_storage, _c.TensorBase.dtype, _c._data_address  # noqa: SLF001


@dataclass(slots=True)
class Storage:
    """One block of memory: how large it is, and how many tensors stand on it. `handle` is torch's object for it."""

    handle: Any
    device: str
    dtype: str
    bytes: int
    tensors: int = 1


@dataclass(slots=True)
class Seen:
    """What one walk found: `storages` by their address; `objects` is how many it looked at, of `all_objects`.

    `unread` are tensors without such memory, or that do not tell: sparse ones, those inside of torch.func.
    """

    storages: dict[int, Storage] = field(default_factory=dict)
    objects: int = 0
    all_objects: int = 0
    unread: int = 0
    cut: bool = False

    def add(self, tensor: Any) -> None:
        """Counts a tensor. What wraps other tensors has no memory of its own, and is left to them."""
        try:
            handle = _storage(tensor)
            at = handle._cdata  # noqa: SLF001 - its only identity
            if (known := self.storages.get(at)) is not None:
                known.tensors += 1
                return
            device = str(handle.device)
            size = 0 if device == "meta" else int(handle.nbytes())
            if size and not _address(tensor):
                return
            dtype = str(_dtype.__get__(tensor)).removeprefix("torch.")
            self.storages[at] = Storage(handle, device, dtype, size)
        except Exception as error:
            if not ours(error):
                raise
            self.unread += 1


def living(limit_s: float) -> Seen:
    """All tensors that are alive, or those found until walking has taken so long: the newest objects first.

    To list the objects comes before that, and cannot be cut short. Nothing of them is held when it returns.
    """
    seen = Seen()
    known: set[int] = set()  # a collection moves objects to the next generation
    kinds = {id(kind) for kind in _kinds(torch.Tensor)}
    with _c.DisableTorchFunction():
        for generation in GENERATIONS:
            objects = gc.get_objects(generation)
            seen.all_objects += len(objects)
            began = time.monotonic()
            try:
                _walk(objects, seen, kinds, known, began + limit_s)
            finally:
                objects.clear()  # among them may be what holds this list: a cycle that would keep them all
            limit_s -= time.monotonic() - began
            if seen.cut:
                break
    return seen


def _walk(objects: list[Any], seen: Seen, kinds: set[int], known: set[int], deadline: float) -> None:
    newest_first = reversed(objects)
    while part := list(islice(newest_first, PART)):
        if time.monotonic() >= deadline:
            seen.cut = True
            return
        # A class's own comparison and hash are never asked: it goes by identity.
        for tensor in compress(part, map(kinds.__contains__, map(id, map(type, part)))):
            if id(tensor) not in known:
                known.add(id(tensor))
                seen.add(tensor)
        seen.objects += len(part)


def _kinds(kind: type) -> Iterator[type]:
    yield kind
    below_it: list[type] = type.__subclasses__(kind)
    for below in below_it:
        yield from _kinds(below)


class Ages:
    """Since when memory is known, in rounds begun: by torch's weak references to it, of at most so many blocks.

    A weak reference to a tensor would do harm: torch exchanges no tensors that have one, as `Module.to` may want to.
    One to its memory keeps nothing but torch's own few words on it, until it is found to be gone.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._since: dict[int, int] = {}

    def forget_the_gone(self) -> None:
        """Lets go of what is not there any more."""
        for at in [at for at in self._since if _c.StorageBase._expired(at)]:  # noqa: SLF001
            self._forget(at)

    def of(self, at: int, handle: Any, now: int) -> int | None:
        """For how many rounds the memory at this address is known; NEW where it was not, None where too many are."""
        if at in self._since:
            return now - self._since[at]
        if len(self._since) >= self._most:
            return None
        self._since[handle._weak_ref()] = now  # noqa: SLF001 - the address again
        return NEW

    def clear(self) -> None:
        """Lets go of all."""
        for at in list(self._since):
            self._forget(at)

    def _forget(self, at: int) -> None:
        del self._since[at]  # first: to let go of one twice would end the process
        _c.StorageBase._free_weak_ref(at)  # noqa: SLF001


def allocated(devices: Iterable[str]) -> dict[str, int]:
    """How many bytes torch's allocator has given out on each of these that is a CUDA device: Python sees some of it."""
    nested: Any = torch.cuda.memory_stats_as_nested_dict
    found: dict[str, int] = {}
    for device in devices:
        try:
            if device.startswith("cuda"):
                found[device] = int(nested(torch.device(device))["allocated_bytes"]["all"]["current"])
        except Exception as error:  # another allocator
            if not ours(error):
                raise
    return found
