"""What holds an object: a path of containers and keys from something that lives anyway, or the cycle it hangs on.

The search goes up from the object, one pass over all containers for each level, and stops at a module, a running
function's variable or a class. It ends after MAX_DEPTH levels, MAX_WIDTH containers a level or MAX_S seconds, and says
so. It holds nothing of what it saw when it returns.
"""

import gc
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from roundwatch import track_frames, track_links

MAX_DEPTH = 12
MAX_WIDTH = 64
MAX_S = 1.0
OWN = str(Path(__file__).parent)


@dataclass(slots=True, eq=False)
class Node:
    """Something on the way: `link` says where in it `below` is."""

    value: Any
    link: str
    below: "Node | None"

    def holds(self, value: Any) -> bool:
        """Whether `value` is this or below it: what refers to itself in a circle."""
        node: Node | None = self
        while node is not None:
            if node.value is value:
                return True
            node = node.below
        return False


class Search:
    """One search; `cycle` is the first circle that was met, `cut` that there was more than was looked at."""

    def __init__(self, target: Any) -> None:
        self.deadline = time.monotonic() + MAX_S
        self.variables = track_frames.variables(OWN)
        self.modules = track_links.modules()
        self.level = [Node(target, "", None)]
        self.seen = {id(target)}
        self.cycle: Node | None = None
        self.cut = False

    def root(self) -> tuple[str, Node] | None:
        """The first that lives anyway, by its name, and what it holds; None where none was found."""
        for _ in range(MAX_DEPTH):
            for node in self.level:
                if (name := self.variables.get(id(node.value))) is not None:
                    return name, node
                if (named := self.modules.get(id(node.value))) is not None:
                    return named, node
                if track_links.is_a(node.value, type):
                    return track_links.class_name(node.value), node
            if not self.level or time.monotonic() > self.deadline:
                break
            self.level = self._above()
        self.cut = self.cut or bool(self.level)
        return None

    def _above(self) -> list[Node]:
        """The containers that hold those of the last level."""
        below = {id(node.value): node for node in self.level}
        values = [node.value for node in self.level]
        referrers = gc.get_referrers(*values)
        ours = {id(part) for part in (values, referrers, below, self.level, *self.level, *self.__dict__.values())}
        found: list[Node] = []
        for referrer in referrers:
            if id(referrer) in ours or track_links.is_a(referrer, (Node, FrameType, weakref.ref)):
                continue
            node = self._holder(referrer, below)
            if node is not None and len(found) < MAX_WIDTH:
                found.append(node)
            self.cut = self.cut or len(found) >= MAX_WIDTH
        return found

    def _holder(self, referrer: Any, below: dict[int, Node]) -> Node | None:
        held = self._held_by(referrer, below)
        if held is None:
            return None
        node = Node(referrer, track_links.link(referrer, held.value), held)
        if held.below is not None and (variable := track_links.closure(referrer, held.below.value)) is not None:
            node.link, held.link = variable, ""  # through the function's tuple of cells
        if id(referrer) in self.seen:
            if self.cycle is None and held.holds(referrer):
                self.cycle = node
            return None
        self.seen.add(id(referrer))
        return node

    def _held_by(self, referrer: Any, below: dict[int, Node]) -> Node | None:
        """What of the last level it holds; of a large container only the first parts are looked at."""
        parts = track_links.first_parts(referrer)
        try:
            held = (below[id(part)] for part in parts or gc.get_referents(referrer) if id(part) in below)
            if (found := next(held, None)) is not None or parts is None:
                return found
        except RuntimeError:  # another thread changes it
            pass
        if len(below) == 1:
            return next(iter(below.values()))
        self.cut = True
        return None


def search(reference: "weakref.ref[Any]") -> dict[str, Any] | None:
    """What holds the object, as attributes; None where it is gone.

    `type`; `held_by`: "a name", "a cycle" (nothing but itself: only the cyclic collector frees it) or "not found" (what
    is written in C does not tell); `path`; `container` and `key`, the innermost of it; `search_cut`: there was more.
    """
    target = reference()
    if target is None:
        return None
    kind = track_links.class_name(type(target))
    searching = Search(target)
    del target
    found = searching.root()
    said: dict[str, Any] = {"type": kind, "held_by": "not found"}
    if found is not None:
        name, node = found
        path = track_links.joined(_links(node), attribute=track_links.is_a(node.value, dict))
        said |= {"held_by": "a name", "path": name + path, **_innermost(node, name, searching.modules)}
    elif (around := searching.cycle) is not None:
        path = track_links.described(around.value) + track_links.joined(_links(around))
        said |= {
            "held_by": "not found" if searching.cut else "a cycle",
            "path": path,
            **_innermost(around, "", searching.modules),
        }
    if searching.cut:
        said["search_cut"] = True
    return said


def _links(node: Node) -> list[str]:
    """The keys from a container down to the object."""
    links: list[str] = []
    while node.below is not None:
        links.append(node.link)
        node = node.below
    return links


def _innermost(node: Node, root: str, modules: dict[int, str]) -> dict[str, str]:
    """The container that holds the object itself, and the key in it: `root` where that is a name's own."""
    holder = None
    while node.below is not None:
        part_of_it = holder is not None and (not node.link or holder.link == track_links.ATTRIBUTES)
        holder = holder if part_of_it else node
        node = node.below
    if holder is None:
        return {"container": root}
    at_root = track_links.is_a(holder.value, dict) and id(holder.value) in modules
    container = root if at_root else track_links.described(holder.value)
    return {"container": container, "key": track_links.joined(_links(holder), attribute=at_root)}
