"""What doctor finds to sample: devices and how they are connected, each metric now, the conditions of a run."""

import time
from collections.abc import Iterable, Iterator, Mapping

from roundwatch import conditions
from roundwatch.cli.checks import Line, in_bytes
from roundwatch.samplers import host_samplers, topology
from roundwatch.samplers.base import Paths, Reading, Sampler
from roundwatch.samplers.hand import Hand
from roundwatch.samplers.memory import process_memory

RATE_S = 0.5
PATIENCE_S = 5.0
Key = tuple[str, str | None]


def device_lines(paths: Paths | None = None) -> Iterator[Line]:
    """The accelerators, and the way between each two and to each network adapter."""
    where = paths or Paths()
    found = topology.devices(where)
    if not found:
        yield Line("none", "devices", "neither NVIDIA's driver nor AMD's shows any")
        return
    for part in found:
        yield Line("ok", part.name, f"{part.model} at {part.way[-1] if part.way else 'an unknown place'}")
    rows = topology.table(where)
    yield Line("ok", "nearness to", " ".join(part.name for part in found))
    for name, row in rows.items():
        yield Line("ok", f"  {name}", row)


def condition_lines() -> Iterator[Line]:
    """What a run that began here now would be recorded with, but for what its training loads first."""
    for name, value in (conditions.found() | conditions.of_attempt()).items():
        told = ", ".join(f"{key}={each}" for key, each in value.items()) if isinstance(value, Mapping) else str(value)
        if name != "topology":
            yield Line("ok", name, told)


def sample_lines(samplers: Iterable[Sampler] | None = None) -> Iterator[Line]:
    """Each metric with its value now, or the reason why there is none. One that hangs is said to."""
    hands = [Hand(sampler) for sampler in (host_samplers() if samplers is None else samplers)]
    told: list[dict[Key, Reading]] = [{} for _ in hands]
    stuck: dict[int, str] = {}
    for turn in range(2):  # rates need two readings
        time.sleep(RATE_S * turn)
        stuck = dict(_turn(hands, told))
    absent: dict[str, dict[str, None]] = {}
    for number, (hand, readings) in enumerate(zip(hands, told, strict=True)):
        for reading in readings.values():
            yield Line("ok", _subject(reading), _value(reading))
        if number in stuck:
            yield Line("warn", hand.sampler.name, stuck[number])
        else:
            for metric, why in _absent(hand.sampler, readings):
                absent.setdefault(metric, {})[why] = None
    had = {_subject(reading) for readings in told for reading in readings.values()}
    for metric, reasons in absent.items():
        if metric not in had:
            yield Line("none", metric, f"not collected: {'; '.join(reasons)}")
    yield from _own_lines()


def _turn(hands: list[Hand], told: list[dict[Key, Reading]]) -> Iterator[tuple[int, str]]:
    """Asks all at once; notes what they tell, and gives which of them could not and why."""
    for hand in hands:
        hand.ask()
    deadline = time.monotonic() + PATIENCE_S
    for number, hand in enumerate(hands):
        answer = hand.answer(deadline)
        if isinstance(answer, Exception):
            yield number, f"fails: {answer!r}"
        elif answer is not None:
            told[number] |= {(reading.metric, reading.device): reading for reading in answer}
        elif hand.owes:
            yield number, f"does not answer within {PATIENCE_S:.0f} s: its driver may hang"


def _absent(sampler: Sampler, readings: Mapping[Key, Reading]) -> Iterator[tuple[str, str]]:
    named = {f"{metric} {device}" if device else metric for metric, device in readings}
    for metric, why in sampler.absent.items():
        if metric not in named:
            yield metric, why


def _own_lines() -> Iterator[Line]:
    """What is read of a training, shown with this process."""
    own = process_memory()
    for reading in own:
        yield Line("ok", _subject(reading), f"{_value(reading)} (of this process; of a training at each round)")
    if not own:
        yield Line("none", "process_memory_bytes", "not collected: the kernel does not tell RssAnon and RssShmem")


def _subject(reading: Reading) -> str:
    return reading.metric if reading.device is None else f"{reading.metric} {reading.device}"


def _value(reading: Reading) -> str:
    if reading.unit == "bytes":
        return in_bytes(reading.value)
    if reading.unit == "bytes/s":
        return f"{in_bytes(reading.value)}/s"
    if reading.unit == "ratio":
        return f"{reading.value:.1%}"
    return f"{reading.value:g} {reading.unit}".strip()
