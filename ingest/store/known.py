"""What this process remembers of the database's dictionaries: bounded, shared by threads, and safe to lose."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
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
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: K, value: V) -> V:
        """Remember and return the value."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        return value

    def add(self, key: K, value: V) -> bool:
        """Remember an entry; returns whether it is new."""
        with self._lock:
            new = key not in self._entries
        self.put(key, value)
        return new

    def forget(self, key: K) -> None:
        """Drop an entry, if it is there."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
