"""Ends that a shipper made up after a loss of power, for phases whose true ends had been sent before."""

from dataclasses import replace

import numpy as np
from django.db import connection

from ingest.store.arrivals import Reject
from ingest.store.fresh import Fresh
from roundwatch import wire

_ABORTED = wire.PHASE_STATES.index("aborted")
_REASON = "the phase had ended already"


def without_superseded(new: Fresh, stream_id: int) -> Fresh:
    """What is fresh of a batch, less the aborted ends of phases that are stored already; those are refused.

    A host that loses its power loses up to a second of its spool: its shipper then cannot know that an end which it
    had sent stands here under another number.
    """
    aborted = new.phases.state == _ABORTED
    if not aborted.any():
        return new
    ended = _ended(stream_id, new.phases.start[aborted].tolist())
    again = aborted & np.isin(new.phases.start, list(ended))
    if not again.any():
        return new
    refused = [Reject(number, _REASON, {}) for number in new.phases.number[again].tolist()]
    return replace(new, phases=new.phases.take(~again), no_room=[*new.no_room, *refused])


def _ended(stream_id: int, starts: list[int]) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT start_number FROM ingest_phase WHERE stream_id = %s AND start_number = ANY(%s)",
            [stream_id, starts],
        )
        return {start for (start,) in cursor.fetchall()}
