"""Readings of samplers as records: the host's into a stream of this shipper, a process's into its own worker's."""

import os
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from roundwatch import identity, slots, wire
from roundwatch.life import lifecycle
from roundwatch.samplers.base import Reading
from roundwatch.slots import Record
from roundwatch.spool import Spool
from roundwatch.streams import Stream


def host_stream(spool: Spool, boot: str) -> Stream:
    """A new stream for what this shipper reads of its host."""
    found = identity.find()
    who = wire.Identity(
        kind="host",
        machine=found.machine,
        host=found.host,
        site=found.site,
        pid=os.getpid(),
        began_unix_ns=time.time_ns(),
    )
    stream = spool.add(os.urandom(16).hex(), said_of(asdict(who), boot, time.time_ns(), time.monotonic_ns()))
    stream.insert([lifecycle(time.monotonic_ns(), {"what": "begin", "data": {}})])
    return stream


def finish(time_ns: int) -> Record:
    """The last record of a shipper's own stream."""
    return lifecycle(time_ns, {"what": "finish", "data": {"state": "finished"}})


def said_of(who: dict[str, Any], boot: str, wall_ns: int, mono_ns: int) -> dict[str, Any]:
    """What a segment's head says of its stream, and a new Stream is made from."""
    return {"identity": who, "boot": boot, "wall_ns": wall_ns, "mono_ns": mono_ns}


def append(stream: Stream, readings: Iterable[Reading], time_ns: int) -> None:
    """Puts readings of one moment into a stream. The spool's lock is held."""
    records = []
    for reading in readings:
        metric = stream.name(reading.metric, reading.unit, reading.source)
        device = 0 if reading.device is None else stream.name(reading.device)
        records.append(Record(-1, slots.SAMPLE, metric, 0, 0, 0, 0, 0, -1, device, 0, time_ns, reading.value))
    stream.insert(records)
