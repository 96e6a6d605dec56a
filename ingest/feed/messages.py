"""What the live feed says: rows of the database as payloads of frames, for the publisher and the snapshot alike."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.detection import finding_kinds
from ingest.feed.frames import (
    STATES,
    FrameType,
    Rows,
    SpanFlag,
    StepFlag,
    encode_columns,
    encode_json,
    figure,
)
from ingest.models import Finding, PhaseName, Round, Run, Series, Stream, Worker
from roundwatch.wire import KINDS, PHASE_STATES

Entry = dict[str, Any]
Column = npt.NDArray[np.int64]
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
# Columns of the feed are narrower than the database's; what does not fit is shown at the edge, not wrapped
# around.
U16, U32 = 0xFFFF, 0xFFFF_FFFF


def unix_ns(moment: dt.datetime | None) -> int | None:
    """A moment as integer Unix nanoseconds, exactly."""
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND * 1000


def run_entry(run: Run) -> Entry:
    """META's "run"."""
    return {
        "id": str(run.id), "name": run.name, "project": run.project, "key": run.key, "state": run.state,
        "rounds_planned": run.rounds_planned, "model_bytes": run.model_bytes,
        "started_ns": unix_ns(run.started_at), "ended_ns": unix_ns(run.ended_at),
    }  # fmt: skip


def lane_entry(worker: Worker) -> Entry:
    """One of META's "lanes"."""
    return {
        "lane": worker.index, "name": worker.name, "role": worker.role, "rank": worker.rank,
        "group": worker.group, "machine": worker.machine, "host": worker.host, "site": worker.site,
        "state": worker.state, "state_reason": worker.state_reason, "attempt": worker.attempt,
    }  # fmt: skip


def attempt_entry(stream: Stream, lane: int) -> Entry:
    """One of META's "attempts"; `lane` is the index of the stream's worker."""
    return {
        "attempt": stream.index,
        "lane": lane,
        "number": stream.attempt,
        "began_ns": unix_ns(stream.began_at),
    }


def phase_entry(name: PhaseName) -> Entry:
    """One of META's "phases"."""
    return {"phase": name.index, "name": name.name, "kind": KINDS[name.kind]}


def series_entry(series: Series, lane: int | None, machine: str) -> Entry:
    """One of META's "series"; `lane` is the worker that it speaks of, None for a machine's own."""
    return {
        "series": series.pk, "lane": lane, "machine": machine, "metric": series.metric, "unit": series.unit,
        "source": series.source, "device": series.device,
    }  # fmt: skip


def finding_entry(finding: Finding) -> Entry:
    """One of FINDING's list."""
    return {
        "id": str(finding.id), "kind": finding.kind, "name": finding_kinds.name(finding.kind, finding.phase),
        "state": finding.state, "severity": finding.severity, "phase": finding.phase, "workers": finding.workers,
        "rounds": finding.rounds,
        "observed": finding.observed, "hypothesis": finding.hypothesis, "opened_at": finding.opened_at.isoformat(),
        "resolved_at": finding.resolved_at and finding.resolved_at.isoformat(), "spans": finding.spans,
        "evidence": finding.evidence,
    }  # fmt: skip


def meta(
    *,
    run: Entry | None = None,
    lanes: Sequence[Entry] = (),
    attempts: Sequence[Entry] = (),
    phases: Sequence[Entry] = (),
    series: Sequence[Entry] = (),
    dropped: int | None = None,
    rejected: int | None = None,
) -> bytes:
    """A META frame of what is new or changed; empty bytes where nothing is.

    `dropped` and `rejected` are the run's sums.
    """
    parts = {
        "run": run, "lanes": list(lanes), "attempts": list(attempts), "phases": list(phases),
        "series": list(series), "dropped": dropped, "rejected": rejected,
    }  # fmt: skip
    filled = {name: part for name, part in parts.items() if part or part == 0}
    return encode_json(FrameType.META, filled) if filled else b""


def amber(marks: Sequence[tuple[int, int, int]]) -> bytes:
    """A META frame with all open phases of the run that last suspiciously long: (attempt, start number, lane).

    A hint that may be late or lost; what matters follows as a finding.
    """
    return encode_json(FrameType.META, {"amber": [list(mark) for mark in marks]})


def findings(rows: Sequence[Finding]) -> bytes:
    """A FINDING frame; empty bytes for none."""
    return encode_json(FrameType.FINDING, [finding_entry(row) for row in rows]) if rows else b""


def steps(rounds: Sequence[Round], newest: dict[int, int] | None = None) -> bytes:
    """A STEP frame; empty bytes for none.

    `newest` maps a round's index to its newest generation: others are superseded.
    """
    if not rounds:
        return b""
    flags = [
        (StepFlag.CLOSED if row.closed else 0)
        | (StepFlag.SUPERSEDED if row.generation < (newest or {}).get(row.index, row.generation) else 0)
        for row in rounds
    ]
    unknown = [math.nan] * len(KINDS)
    columns: Rows = {
        "begin": [row.begin_ns for row in rounds],
        "end": [row.end_ns if row.closed and row.end_ns is not None else -1 for row in rounds],
        "index": [row.index for row in rounds],
        "coverage": [figure(row.coverage) for row in rounds],
        "waiting": [figure(row.gpu_waiting_share) for row in rounds],
        "kinds": np.array([row.kind_seconds or unknown for row in rounds], np.float32),
        "generation": [min(row.generation, U16) for row in rounds],
        "trainers": [min(row.trainers, U16) for row in rounds],
        "flags": flags,
    }
    return encode_columns(FrameType.STEP, columns)


@dataclass(frozen=True, slots=True)
class Spans:
    """Closed phases as columns of equal length; times int64 Unix ns on the server's clock."""

    begin_ns: Column
    end_ns: Column
    start_number: Column
    parent: Column
    round: Column
    lane: Column
    attempt: Column
    phase: Column
    state: Column
    thread: Column


def span_flags(state: Column, parent: Column) -> Column:
    """SPAN's flags from a phase's state (wire.PHASE_STATES) and parent; SLOW comes with a finding."""
    error = np.where(state == PHASE_STATES.index("error"), SpanFlag.ERROR, 0)
    aborted = np.where(state == PHASE_STATES.index("aborted"), SpanFlag.ABORTED, 0)
    return np.asarray(error | aborted | np.where(parent >= 0, SpanFlag.NESTED, 0), np.int64)


def spans(rows: Spans) -> bytes:
    """A SPAN frame; empty bytes for none."""
    if not rows.begin_ns.size:
        return b""
    columns = {
        "start": rows.begin_ns,
        "duration": rows.end_ns - rows.begin_ns,
        "id": rows.start_number & U32,
        "round": rows.round,
        "lane": np.minimum(rows.lane, U16),
        "attempt": np.minimum(rows.attempt, U16),
        "phase": np.minimum(rows.phase, U16),
        "flags": span_flags(rows.state, rows.parent),
        "thread": np.minimum(rows.thread, U16),
    }
    return encode_columns(FrameType.SPAN, columns)


def samples(series: Column, time_ns: Column, value: npt.NDArray[np.float64]) -> bytes:
    """A SAMPLE frame of readings of `series` (Series.id); empty bytes for none."""
    if not series.size:
        return b""
    # Beyond what 32 bits hold a value is drawn as infinite; the database keeps it.
    with np.errstate(over="ignore"):
        narrow = value.astype(np.float32)
    return encode_columns(FrameType.SAMPLE, {"time": time_ns, "series": series & U32, "value": narrow})


@dataclass(frozen=True, slots=True)
class LostRecords:
    """A gap: `count` records of one attempt that will never come; times Unix ns, -1 where not known."""

    begin_ns: int
    end_ns: int
    count: int
    lane: int
    attempt: int


def gaps(rows: Sequence[LostRecords]) -> bytes:
    """A GAP frame; empty bytes for none."""
    if not rows:
        return b""
    columns = {
        "begin": [row.begin_ns for row in rows],
        "end": [row.end_ns for row in rows],
        "count": [min(row.count, U32) for row in rows],
        "lane": [min(row.lane, U16) for row in rows],
        "attempt": [min(row.attempt, U16) for row in rows],
    }
    return encode_columns(FrameType.GAP, columns)


@dataclass(frozen=True, slots=True)
class Beat:
    """That an attempt was heard: when (Unix ns), the highest number its open phases stand for, clock error,
    state.

    `opens` lists its open phases as Stream.opens holds them, each with "phase": its PhaseName.index.
    """

    heard_ns: int
    number: int
    error_ns: int | None
    lane: int
    attempt: int
    state: str
    opens: Sequence[Entry] = ()


def beats(rows: Sequence[Beat]) -> bytes:
    """OPEN_SNAPSHOT and HEARTBEAT frames, which belong together; empty bytes for none."""
    if not rows:
        return b""
    columns: Rows = {
        "heard": [row.heard_ns for row in rows],
        "number": [max(row.number, 0) & U32 for row in rows],
        "error_us": [math.nan if row.error_ns is None else row.error_ns / 1000 for row in rows],
        "lane": [min(row.lane, U16) for row in rows],
        "attempt": [min(row.attempt, U16) for row in rows],
        "state": [STATES.index(row.state) for row in rows],
    }
    return _opens(rows) + encode_columns(FrameType.HEARTBEAT, columns)


def _opens(rows: Sequence[Beat]) -> bytes:
    """The open phases of all beats; a frame without rows where none is open, so that ended ones are forgotten."""
    flat = [(row, phase) for row in rows for phase in row.opens]
    columns = {
        "start": [phase["begin_ns"] for _, phase in flat],
        "id": [phase["start"] & U32 for _, phase in flat],
        "round": [phase["round"] for _, phase in flat],
        "progress": [figure(phase["progress"]) for _, phase in flat],
        "lane": [min(row.lane, U16) for row, _ in flat],
        "attempt": [min(row.attempt, U16) for row, _ in flat],
        "phase": [min(phase["phase"], U16) for _, phase in flat],
        "thread": [min(phase["thread"], U16) for _, phase in flat],
    }
    return encode_columns(FrameType.OPEN_SNAPSHOT, columns)
