"""The lives of attempts as one transaction's batches tell them: begun, heard, ended."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from ingest.feed.messages import Beat, unix_ns
from ingest.models.multiranges import Range
from ingest.models.workers import WorkerState
from ingest.store import ranges
from ingest.store.arrivals import Turn
from ingest.store.resolve import Resolved
from ingest.store.states import Heard
from ingest.store.stream_rows import StreamRow

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Lives:
    """Gathers what follows for workers (`heard`) and runs (`begun`: what attempts said of them at their begin,
    by Stream.id)."""

    def __init__(self) -> None:
        self._heard: dict[int, Heard] = {}
        self.begun: dict[UUID, dict[int, Mapping[str, Any]]] = {}

    @property
    def heard(self) -> list[Heard]:
        """What was heard of workers, one item for each stream."""
        return list(self._heard.values())

    def take(self, resolved: Resolved, row: StreamRow, fresh: Sequence[Range]) -> bool:
        """Note the turns of the attempt's life; returns whether it ended."""
        ended = False
        for turn in resolved.arrival.turns:
            if ranges.common(fresh, turn.number, turn.number + 1):
                ended |= self._turn(resolved, row, turn)
        if not ended:
            known = self._heard.get(row.id)
            self._hear(resolved, row, known.state if known else None, known.reason if known else "")
        return ended

    def _turn(self, resolved: Resolved, row: StreamRow, turn: Turn) -> bool:
        if turn.what == "begin" and resolved.stream.run_id is not None:
            said = self.begun.setdefault(resolved.stream.run_id, {})
            said[resolved.stream.id] = {**said.get(resolved.stream.id, {}), **turn.data}
            return False
        # What an attempt said of its own end outranks what its shipper saw.
        if turn.what == "finish" or not row.end_state:
            row.end_state = turn.data.get("state", str(WorkerState.LOST))
            row.ended_at = _EPOCH + dt.timedelta(microseconds=turn.time_ns // 1000)
            self._hear(resolved, row, row.end_state, turn.data["reason"])
            return True
        return False

    def _hear(self, resolved: Resolved, row: StreamRow, state: str | None, reason: str) -> None:
        arrival, stream = resolved.arrival, resolved.stream
        if stream.worker_id is None:
            return
        alive = arrival.alive and row.ended_at is None
        self._heard[stream.id] = Heard(
            stream_id=stream.id,
            worker_id=stream.worker_id,
            attempt_began_at=stream.began_at,
            alive=alive,
            offset_ns=arrival.offset_ns,
            error_ns=arrival.error_ns,
            state=state,
            reason=reason,
        )


def beat(resolved: Resolved, row: StreamRow) -> Beat:
    """The stream's heartbeat for viewers, with its open phases by the run's own names."""
    names = {pair: int(index) for pair, index in zip(resolved.arrival.names, resolved.names, strict=True)}
    named = [{**phase, "phase": names.get((phase["name"], phase["kind"]), -1)} for phase in row.opens]
    return Beat(
        heard_ns=unix_ns(row.heard_at) or 0,
        number=row.opens_number,
        error_ns=row.error_ns,
        lane=resolved.stream.lane,
        attempt=resolved.stream.attempt,
        state=row.end_state or str(WorkerState.RUNNING),
        opens=[phase for phase in named if phase["phase"] >= 0],
    )
