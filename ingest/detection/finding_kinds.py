"""Kinds of findings and what people call them: one name for each, on every page and in every message."""

# As detection.md lists them. A name stands alone or before a phase; one that ends in a colon loses it without a phase.
# What scripts read is the kind itself.
NAMES: dict[str, str] = {
    "straggler": "slow",
    "slow_phase": "runs long:",
    "stalled": "stalled",
    "missing": "not begun",
    "worker_lost": "worker lost",
    "run_stalled": "run stalled",
    "memory_growth": "memory grows",
    "memory_retained": "memory kept after the end",
    "reference_cycle": "reference cycle",
    "work_on_path": "waited for",
    "interval_failed": "check failed:",
    "imbalance": "imbalance in",
    "utilisation_trap": "busy without computing much",
    "training_unhealthy": "training unhealthy",
    "device_fault": "device fault",
    "worker_failed": "worker failed",
    "out_of_memory": "out of memory",
    "data_lost": "data lost",
    "regression": "slower than before",
}
_JOINTS = (":", " in")


def name(kind: str, phase: str = "") -> str:
    """What a kind is called, as it stands before `phase`, or alone where that is empty; a kind of later, in its own."""
    found = NAMES.get(kind, kind.replace("_", " "))
    if phase:
        return found
    return next((found.removesuffix(joint) for joint in _JOINTS if found.endswith(joint)), found)


def headline(kind: str, phase: str) -> str:
    """A finding in a few words: its kind's name and its phase, which may be empty and is as people are to read it."""
    return f"{name(kind, phase)} {phase}".rstrip()
