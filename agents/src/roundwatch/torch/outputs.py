"""Where a backward pass can begin: the tensors in whatever a model returns."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch

MAX_OUTPUTS = 8
MAX_DEPTH = 3
MAX_LOOKED_AT = 32  # in each container


def tensors_in(output: Any) -> Iterator[Any]:
    """The first tensors in a model's output that a backward pass can begin at."""
    left = MAX_OUTPUTS
    todo: list[tuple[Any, int]] = [(output, MAX_DEPTH)]
    while todo and left:
        value, deeper = todo.pop(0)
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                left -= 1
                yield value
        elif deeper:
            todo += [(inner, deeper - 1) for inner in islice(_inside(value), MAX_LOOKED_AT)]


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    return vars(value).values() if hasattr(value, "__dict__") else ()
