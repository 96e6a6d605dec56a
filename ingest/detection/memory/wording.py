"""What is said of memory in words: what was measured, and apart from it what may explain it."""

import math

from ingest.detection.memory.context import Context
from ingest.detection.memory.rules import Cycle, Growth, Retained
from ingest.detection.wording import duration, size

_LABELS = {
    "process_memory_bytes": "memory of the process",
    "cgroup_memory_bytes": "memory of the cgroup",
    "host_memory_bytes": "memory of the host",
    "process_gpu_memory_bytes": "device memory of the process",
    "device_memory_allocated_bytes": "allocated device memory",
}


def growth(context: Context, found: Growth) -> str:
    """How fast it grows, in model copies where their size is known, and when the limit is reached."""
    word = context.held.words.round
    grown = f"{_what(context)} grows by {_sized(context, found.slope)} a {word}"
    grown += f" ({word}s {found.first} to {found.last}: {size(found.total)} more between {word}s)"
    if math.isnan(found.left_rounds):
        return f"{grown}; its limit is not known."
    if found.left_rounds == 0:
        return f"{grown}; its peak is at the limit."
    return f"{grown}; the limit is reached in {found.left_rounds:.0f} {word}s, {_long(found.left_s)}."


def retained(context: Context, found: Retained) -> str:
    """What stays after the end, beside what was held after the first round."""
    how = "for" if found.over else "since"
    return (
        f"{_what(context)} keeps {_sized(context, found.left)} more than after {context.held.words.round} "
        f"{found.first} ({size(found.base)}), {how} {duration(found.seconds)} after it finished; "
        f"peak {context.rounds[-1].told}."
    )


def cycle(context: Context, found: Cycle) -> str:
    """What collections freed."""
    times = "a full collection" if found.times == 1 else f"{found.times} full collections"
    if found.by_floors:
        return (
            f"{_what(context)} falls between {context.held.words.round}s only where {times} ran, by "
            f"{_sized(context, found.most)} at most."
        )
    kept = ", which its allocator keeps for what comes" if found.kept else ""
    freed = f"freed {_sized(context, found.most)} at most{kept}."
    return f"{times[0].upper()}{times[1:]} of {context.held.worker.name} {freed}"


def why(context: Context, found: Cycle | None) -> str:
    """What may explain memory that stays: collections tell cycles from all else, and the agent what holds it."""
    told = []
    if found is not None:
        told.append("Reference cycle: what is kept goes when the cyclic collector runs.")
    elif context.held.collections:
        told.append("Something still refers to it, or the allocator keeps it: full collections did not free it.")
    return " ".join([*told, holders(context)]).strip()


def holders(context: Context) -> str:
    """What holds the object that has stayed for the most rounds; empty where nobody asked."""
    kept = [one for one in context.held.kept if one.path]
    if not kept:
        return ""
    longest = max(kept, key=lambda one: one.rounds)
    ago = f"{longest.rounds} {context.held.words.round}s ago"
    return f"{longest.label} of {ago} is still held by {longest.held_by}: {longest.path}."


def _what(context: Context) -> str:
    held = context.held
    on = f"{held.worker.name}, {held.device}" if held.device else held.worker.name
    return f"On {on} the {_LABELS.get(held.metric, held.metric)}"


def _sized(context: Context, value: float) -> str:
    return size(value) if math.isnan(context.copy) else f"{value / context.copy:.1f} model copies ({size(value)})"


def _long(seconds: float) -> str:
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
