"""From decoded requests to a job for the store: shape first (a fault refuses the request), then record by record."""

from operator import attrgetter
from uuid import UUID

from ingest.api import lifecycle, records
from ingest.api.clocks import set_right
from ingest.api.columns import LIMIT
from ingest.api.examination import Examination
from ingest.api.identity import stream_uid, wall_shift, who
from ingest.api.numbers import SORTS, Numbers, numbers_of, records_in
from ingest.api.tables import require_tables
from ingest.store.arrivals import Arrival, Fault, Job, Loss, Refused, Turn, Who
from roundwatch import wire

_MAX_STREAM_CHARS = 64  # of a refused batch's stream, as its result repeats it
_MAX_OFFSET_NS = LIMIT
_COLUMNS = (wire.PhaseColumns, wire.RoundColumns, wire.EventColumns, wire.SampleColumns)
_LISTS = {sort: attrgetter(*sort.__dataclass_fields__) for sort in _COLUMNS}
_LOSSES = ("sample", "phase", "event", "lifecycle", "any")


def job(team_id: UUID, request: wire.Request, arrived_ns: int, size: int = 0) -> Job:
    """The request's work; raises Fault 413 for too many records or batches, 422 for what cannot be read.

    A batch whose identity cannot be kept is refused alone: no smaller request would bring it in.
    """
    if sum(map(records_in, request.batches)) > wire.MAX_RECORDS:
        raise Fault(413, "too_many", f"A request may have {wire.MAX_RECORDS} records.", "batches")
    if len(request.batches) > wire.MAX_WORKERS:
        raise Fault(413, "too_many", f"A request may have {wire.MAX_WORKERS} batches.", "batches")
    taken: list[Arrival] = []
    refused: list[Refused] = []
    for index, batch in enumerate(request.batches):
        try:
            uid, owner = stream_uid(batch.stream), who(batch.identity, wall_shift(request, batch, arrived_ns))
        except Fault as fault:
            refused.append(Refused(wire.cleaned(batch.stream, _MAX_STREAM_CHARS), f"{fault.field}: {fault.message}"))
        else:
            set_right(request, batch, arrived_ns)
            taken.append(_arrival(batch, uid, owner, arrived_ns, f"batches[{index}]"))
    return Job(team_id, taken, arrived_ns, size, refused)


def _arrival(batch: wire.Batch, uid: UUID, owner: Who, now_ns: int, field: str) -> Arrival:
    exam = Examination(batch, _require_shape(batch, field), now_ns, owner.host_stream)
    phases, events, rounds = records.phases(exam), records.events(exam), records.rounds(exam)
    samples, series = records.samples(exam)
    turns = [turn for record in batch.lifecycle if (turn := _turn(exam, record))]
    opens = [] if owner.host_stream else [phase for each in batch.open[: wire.MAX_OPEN] if (phase := _open(exam, each))]
    return Arrival(
        stream=uid, who=owner, first=batch.first, count=batch.count,
        highest=max(batch.highest, batch.first + batch.count - 1),
        offset_ns=batch.offset_ns, error_ns=batch.error_ns, alive=batch.alive,
        open_at_ns=exam.sound_time(batch.open_at_ns) or now_ns,
        names=list(exam.names),
        speaks_for=list(exam.speaks_for),
        series=series,
        attrs=exam.attrs,
        phases=phases, events=events, samples=samples, rounds=rounds,
        turns=sorted(turns, key=lambda turn: turn.number),
        losses=[_loss(exam, drop) for drop in batch.drops],
        opens=opens,
        rejects=exam.rejects,
    )  # fmt: skip


def _require_shape(batch: wire.Batch, field: str) -> Numbers:
    require_tables(batch, field)
    for sort in SORTS:
        columns = getattr(batch, sort)
        count = len(columns.number)
        if {*map(len, _LISTS[type(columns)](columns))} != {count}:
            odd = next(name for name in columns.__dataclass_fields__ if len(getattr(columns, name)) != count)
            raise Fault(422, "columns", "Columns of one sort have different lengths.", f"{field}.{sort}.{odd}")
    if abs(batch.offset_ns) > _MAX_OFFSET_NS or not 0 <= (batch.error_ns or 0) <= LIMIT:
        raise Fault(422, "clock", "offset_ns or error_ns is out of range.", f"{field}.offset_ns")
    return numbers_of(batch, field)


def _turn(exam: Examination, record: wire.Lifecycle) -> Turn | None:
    data, fault = lifecycle.checked(record)
    time_ns = exam.sound_time(record.time_ns)
    if exam.host_stream:
        return None
    if record.number in exam.seen:
        fault = "its number came twice"
    if fault or time_ns is None:
        shown = {"sort": "lifecycle", "what": record.what, "data": record.data}
        exam.refuse(record.number, fault or "its time is outside of 2000 to now + 10 minutes", shown)
        return None
    return Turn(record.number, time_ns, record.what, data)


def _loss(exam: Examination, drop: wire.Drop) -> Loss:
    return Loss(
        number=drop.number,
        span=drop.span,
        count=min(max(drop.count, 0), LIMIT),
        what=drop.what if drop.what in _LOSSES else "any",
        reason=wire.cleaned(drop.reason, wire.MAX_NAME_CHARS),
        begin_ns=None if drop.from_ns is None else exam.sound_time(drop.from_ns),
        end_ns=None if drop.to_ns is None else exam.sound_time(drop.to_ns),
    )


def _open(exam: Examination, phase: wire.OpenPhase) -> dict[str, object] | None:
    """An open phase as Stream.opens keeps it; what cannot be shown is left out, for its end will carry the whole."""
    begin_ns = exam.sound_time(phase.begin_ns)
    fits = (
        0 <= phase.start < LIMIT
        and 0 <= phase.kind < len(wire.KINDS)
        and -1 <= phase.round <= records.MAX_ROUND
        and 0 <= phase.thread <= records.MAX_THREAD
        and -1 <= phase.parent < LIMIT
        and wire.name_fault(phase.name) is None
    )
    if begin_ns is None or not fits:
        return None
    exam.names.place((phase.name, phase.kind))
    progress = phase.progress if phase.progress is not None and 0 <= phase.progress <= 1 else None
    return {
        "start": phase.start, "begin_ns": begin_ns, "name": phase.name, "kind": phase.kind, "round": phase.round,
        "thread": phase.thread, "parent": phase.parent, "progress": progress,
    }  # fmt: skip
