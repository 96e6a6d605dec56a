"""A hook for torch that stays with its model: what is copied or saved of the model has one that does nothing."""

from contextlib import nullcontext
from functools import partial
from typing import Any


class Hook(partial[Any]):
    """Calls what it was made of, without a Python frame in between.

    A copy must neither record as the model does nor reach for the run; and what was saved with it is loaded where this
    package is not installed. So it becomes what the standard library has that takes anything and returns None.
    """

    __torch_unserializable__ = True  # torch need not warn that a tensor is saved without it

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")
