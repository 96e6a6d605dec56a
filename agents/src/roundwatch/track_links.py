"""How one object holds another, in words: a key, an index, an attribute, a variable of a closure.

No code of the training runs here: what an object's own class or a key's own comparison would do is never asked.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from roundwatch import track_frames

MOST_LOOKED_AT = 100_000
MAX_KEY = 60
ATTRIBUTES = "\0"  # the dict that holds an object's attributes: it is part of the object
PLAIN = (str, int, float, bool, bytes, type(None))
# As `type` has them, whatever a metaclass says.
MODULE, QUALNAME, BASES, OWN = (type.__dict__[name] for name in ("__module__", "__qualname__", "__mro__", "__dict__"))


def modules() -> dict[int, str]:
    """The names of all modules, by the identity of the module and by that of its variables."""
    found: dict[int, str] = {}
    for name, module in list(sys.modules.items()):
        if is_a(module, ModuleType) and type(name) is str:
            found[id(module)] = found[id(object.__getattribute__(module, "__dict__"))] = name
    return found


def is_a(value: Any, kinds: Any) -> bool:
    """As isinstance, by what `value` is and not by what it says of itself."""
    return issubclass(type(value), kinds)


def class_name(kind: type) -> str:
    """A class's name with its module, without that of builtins."""
    module, name = (_text(part.__get__(kind)) for part in (MODULE, QUALNAME))
    return name if module == "builtins" else f"{module}.{name}"


def _text(value: Any) -> str:
    return value if type(value) is str else "?"


def link(holder: Any, held: Any) -> str:
    """Where in `holder` `held` is."""
    told = next((tell for kinds, tell in SORTS if is_a(holder, kinds)), None)
    if told is not None:
        return told(holder, held)
    frame = _suspended(holder)
    return _attribute(holder, held) if frame is None else _variable(frame, held)


def described(value: Any) -> str:
    """A container in a few words: its class, and a function's name."""
    return f"function {_text(value.__qualname__)}" if is_a(value, FunctionType) else class_name(type(value))


def joined(links: list[str], *, attribute: bool = False) -> str:
    """Links from the outermost to the innermost as one path; keys of what holds attributes become attributes.

    `attribute` says so of the first.
    """
    text = ""
    for part in links:
        text += f".{part[2:-2]}" if attribute and part.startswith("['") and part[2:-2].isidentifier() else part
        attribute = part.endswith(ATTRIBUTES)
    return text.replace(ATTRIBUTES, "")


def first_parts(holder: Any) -> Iterator[Any] | None:
    """The first MOST_LOOKED_AT parts of a large container of Python's own; None for any other object."""
    for kind in (dict, list, tuple, set, frozenset, deque):
        if is_a(holder, kind):
            if kind.__len__(holder) <= MOST_LOOKED_AT:
                return None
            if kind is dict:
                return (part for item in _items(holder) for part in item)
            return islice(kind.__iter__(holder), MOST_LOOKED_AT)
    return None


def _items(holder: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    return islice(dict.items(holder), MOST_LOOKED_AT)


def _key(holder: dict[Any, Any], held: Any) -> str:
    try:
        for key, value in _items(holder):
            if value is held:
                return f"[{_told(key)}]"
            if key is held:
                return " as a key"
    except RuntimeError:  # another thread changes it
        pass
    return "[...]"


def _told(key: Any) -> str:
    """A key's text; only of plain sorts, whose text runs no code of the training."""
    if _plain(key) or (type(key) is tuple and all(map(_plain, key))):
        return repr(key)[:MAX_KEY]
    return class_name(type(key)).rpartition(".")[2]


def _plain(key: Any) -> bool:
    return any(type(key) is kind for kind in PLAIN)


def closure(holder: Any, cell: Any) -> str | None:
    """The variable of a function that `cell` is; None where it is none."""
    if not is_a(holder, FunctionType):
        return None
    variables = zip(holder.__code__.co_freevars, holder.__closure__ or (), strict=False)
    return next((f"(): {name}" for name, known in variables if known is cell), None)


def _of_function(holder: FunctionType, held: Any) -> str:
    return ".__closure__" if holder.__closure__ is held else ".__defaults__" if holder.__defaults__ is held else "()"


def _of_method(holder: MethodType, held: Any) -> str:
    return ".__self__" if holder.__self__ is held else ".__func__"


def _of_class(holder: type, held: Any) -> str:
    return ATTRIBUTES if is_a(held, dict) else f" in {described(holder)}"


def _index(holder: Any, held: Any) -> str:
    kind: Any = next(kind for kind in (list, tuple, deque) if is_a(holder, kind))
    try:
        at = next((at for at, value in enumerate(islice(kind.__iter__(holder), MOST_LOOKED_AT)) if value is held), None)
    except RuntimeError:  # another thread changes it
        at = None
    return "[...]" if at is None else f"[{at}]"


def _suspended(holder: Any) -> FrameType | None:
    """The frame of a generator or coroutine that goes on later."""
    if is_a(holder, GeneratorType):
        return holder.gi_frame  # type: ignore[no-any-return]
    if is_a(holder, CoroutineType):
        return holder.cr_frame  # type: ignore[no-any-return]
    return holder.ag_frame if is_a(holder, AsyncGeneratorType) else None


def _variable(frame: FrameType, held: Any) -> str:
    found = (name for name, value in track_frames.local(frame) if value is held)
    return f"(): {next(found, '...')}"


def _attribute(holder: Any, held: Any) -> str:
    own = _attributes_of(holder)
    if own is held:
        return ATTRIBUTES
    try:
        name = next((key for key, value in _items(own or {}) if value is held), None)
    except RuntimeError:  # another thread changes it
        name = None
    if name is not None:
        return f".{_text(name)}"
    for kind in BASES.__get__(type(holder)):
        for name, member in list(OWN.__get__(kind).items()):
            if type(member) is MemberDescriptorType and _slot(member, holder) is held:
                return f".{_text(name)}"
    return f" in {described(holder)}"


def _attributes_of(holder: Any) -> dict[str, Any] | None:
    for kind in BASES.__get__(type(holder)):
        for name, member in OWN.__get__(kind).items():
            if type(name) is str and name == "__dict__" and is_a(member, (GetSetDescriptorType, MemberDescriptorType)):
                own = _slot(member, holder)
                return own if type(own) is dict else None
    return None


def _slot(member: Any, holder: Any) -> Any:
    try:
        return member.__get__(holder)
    except (AttributeError, TypeError):  # not set, or not of this object
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
