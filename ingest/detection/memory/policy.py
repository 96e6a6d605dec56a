"""The thresholds of the memory rules, with the meaning of each."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them. A copy is the model's bytes."""

    skipped_rounds: int = 2  # the first of an attempt: caches fill
    least_rounds: int = 5
    recent_rounds: int = 8
    slow_rounds: int = 50  # looked at as well, for leaks that are slow
    tau: float = 0.8  # Mann-Kendall's, of floors over rounds
    slope_copies: float = 0.1  # a round
    slope_least_bytes: float = 32 * MIB
    total_copies: float = 0.5
    total_unknown_bytes: float = 512 * MIB  # where the model's bytes are not known
    step_share: float = 0.6  # of the total in one step: a cache filled once is no leak
    horizon_s: float = 86_400.0  # where the model's bytes are not known, the limit must be reached within a day
    critical_rounds: float = 20.0  # until the limit is reached
    critical_s: float = 1800.0
    critical_share: float = 0.92  # of the limit
    retained_copies: float = 1.0  # above the floor after round 0
    retained_s: float = 60.0  # for so long after the end
    fall_copies: float = 0.5  # that a collection must have freed
    saw_teeth: int = 2  # falls of floors, each with a collection
    leaking: frozenset[str] = frozenset(
        {
            "process_memory_bytes",
            "cgroup_memory_bytes",
            "host_memory_bytes",
            "process_gpu_memory_bytes",
            "device_memory_allocated_bytes",
        }
    )  # fmt: skip - page cache and what an allocator has reserved are no leak


DEFAULT = Policy()
