"""What the live feed says of events: named instants on one worker."""

from dataclasses import dataclass

import numpy as np

from ingest.feed.frames import FrameType, encode_columns
from ingest.feed.messages import U16, U32, Column


@dataclass(frozen=True, slots=True)
class Events:
    """Events as columns of equal length; `time_ns` is Unix time on the server's clock, `number` that of the record."""

    time_ns: Column
    number: Column
    round: Column
    lane: Column
    attempt: Column
    name: Column
    thread: Column


def events(rows: Events) -> bytes:
    """An EVENT frame; empty bytes for none."""
    if not rows.time_ns.size:
        return b""
    columns = {
        "time": rows.time_ns,
        "id": rows.number & U32,
        "round": rows.round,
        "lane": np.minimum(rows.lane, U16),
        "attempt": np.minimum(rows.attempt, U16),
        "phase": np.minimum(rows.name, U16),
        "thread": np.minimum(rows.thread, U16),
    }
    return encode_columns(FrameType.EVENT, columns)
