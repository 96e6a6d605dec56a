"""How one object holds another, in words: a key, an index, an attribute, a variable of a closure."""

import sys
from collections import deque
from collections.abc import Callable
from itertools import islice
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

from roundwatch import track_frames

MOST_LOOKED_AT = 100_000
MAX_KEY = 60
ATTRIBUTES = "\0"  # the dict that holds an object's attributes: it is part of the object


def named(value: Any) -> str | None:
    """The name of what lives anyway: a module, its variables, a class; None for anything else."""
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if type(value) is dict and isinstance(name := value.get("__name__"), str):
        module = sys.modules.get(name)
        return name if module is not None and getattr(module, "__dict__", None) is value else None
    return None


def link(holder: Any, held: Any) -> str:
    """Where in `holder` `held` is."""
    told = next((tell for kinds, tell in SORTS if isinstance(holder, kinds)), None)
    if told is not None:
        return told(holder, held)
    frame = _suspended(holder)
    return _attribute(holder, held) if frame is None else _variable(frame, held)


def described(value: Any) -> str:
    """A container in a few words: its class, and a function's name."""
    if isinstance(value, FunctionType):
        return f"function {value.__qualname__}"
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def joined(links: list[str], *, attribute: bool = False) -> str:
    """Links from the outermost to the innermost as one path; keys of what holds attributes become attributes.

    `attribute` says so of the first.
    """
    text = ""
    for part in links:
        text += f".{part[2:-2]}" if attribute and part.startswith("['") and part[2:-2].isidentifier() else part
        attribute = part.endswith(ATTRIBUTES)
    return text.replace(ATTRIBUTES, "")


def _key(holder: dict[Any, Any], held: Any) -> str:
    try:
        for key, value in islice(holder.items(), MOST_LOOKED_AT):
            if value is held:
                return f"[{_told(key)}]"
            if key is held:
                return " as a key"
    except RuntimeError:  # another thread changes it
        pass
    return "[...]"


def _told(key: Any) -> str:
    """A key's text; only of plain sorts, whose text runs no code of the training."""
    plain = type(key) in (str, int, float, bool, bytes, type(None))
    if plain or (type(key) is tuple and all(type(part) in (str, int, float, bool) for part in key)):
        return repr(key)[:MAX_KEY]
    return type(key).__name__


def closure(holder: Any, cell: Any) -> str | None:
    """The variable of a function that `cell` is; None where it is none."""
    if not isinstance(holder, FunctionType):
        return None
    variables = zip(holder.__code__.co_freevars, holder.__closure__ or (), strict=False)
    return next((f"(): {name}" for name, known in variables if known is cell), None)


def _of_function(holder: FunctionType, held: Any) -> str:
    return ".__closure__" if holder.__closure__ is held else ".__defaults__" if holder.__defaults__ is held else "()"


def _of_method(holder: MethodType, held: Any) -> str:
    return ".__self__" if holder.__self__ is held else ".__func__"


def _of_class(holder: type, held: Any) -> str:
    return ATTRIBUTES if isinstance(held, dict) else f" in {described(holder)}"


def _index(holder: Any, held: Any) -> str:
    at = next((at for at, value in enumerate(islice(holder, MOST_LOOKED_AT)) if value is held), None)
    return "[...]" if at is None else f"[{at}]"


def _suspended(holder: Any) -> FrameType | None:
    """The frame of a generator or coroutine that goes on later."""
    if isinstance(holder, GeneratorType):
        return holder.gi_frame
    if isinstance(holder, CoroutineType):
        return holder.cr_frame
    return holder.ag_frame if isinstance(holder, AsyncGeneratorType) else None


def _variable(frame: FrameType, held: Any) -> str:
    found = (name for name, value in track_frames.local(frame) if value is held)
    return f"(): {next(found, '...')}"


def _attribute(holder: Any, held: Any) -> str:
    own = _attributes_of(holder)
    if own is held:
        return ATTRIBUTES
    for name, value in islice((own or {}).items(), MOST_LOOKED_AT):
        if value is held:
            return f".{name}"
    for kind in type(holder).__mro__:
        for name, member in list(vars(kind).items()):
            if type(member).__name__ == "member_descriptor" and _slot(member, holder) is held:
                return f".{name}"
    return f" in {described(holder)}"


def _attributes_of(holder: Any) -> dict[str, Any] | None:
    try:
        own = object.__getattribute__(holder, "__dict__")
    except Exception:  # noqa: BLE001 - has none, or a class made it something else
        return None
    return own if type(own) is dict else None


def _slot(member: Any, holder: Any) -> Any:
    try:
        return member.__get__(holder)
    except Exception:  # noqa: BLE001 - not set, or not of this object
        return None


SORTS: list[tuple[Any, Callable[[Any, Any], str]]] = [
    (dict, _key),
    ((list, tuple, deque), _index),
    ((set, frozenset), lambda *_: "{...}"),
    (CellType, lambda *_: ""),
    (FunctionType, _of_function),
    (MethodType, _of_method),
    (type, _of_class),
]
