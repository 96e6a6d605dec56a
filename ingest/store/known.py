"""What this process remembers of the database's dictionaries: bounded, shared by threads, and safe to lose."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Known(Generic[K, V]):
    """A dictionary that forgets what was not asked for longest."""

    def __init__(self, most: int) -> None:
        """Remember at most `most` entries."""
        self._most = most
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The entry, or None."""
        return self.find([key]).get(key)

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """The entries of those keys that are known."""
        found = {}
        with self._lock:
            for key in keys:
                if key in self._entries:
                    self._entries.move_to_end(key)
                    found[key] = self._entries[key]
        return found

    def put(self, key: K, value: V) -> V:
        """Remember and return the value."""
        self.keep({key: value})
        return value

    def keep(self, entries: Mapping[K, V]) -> None:
        """Remember entries."""
        with self._lock:
            for key, value in entries.items():
                self._entries[key] = value
                self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def forget(self, key: K) -> None:
        """Drop an entry, if it is there."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
