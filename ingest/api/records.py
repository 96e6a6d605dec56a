"""Checks of records: each is stored or set aside with a reason, whatever becomes of its neighbours."""

import numpy as np

from ingest.api.columns import LIMIT, Verdicts, first_use, integers, readings, uniform, within
from ingest.api.examination import Examination
from ingest.store.arrivals import EventRows, Ints, Mask, PhaseRows, RoundRows, SampleRows, SeriesKey
from roundwatch import wire

MAX_ROUND = (1 << 31) - 1
MAX_THREAD = 0xFFFF
_MAX_UNIT_CHARS = 32
_SOURCES = ("host", "process", "device", "training")
_OTHER = wire.KIND_NUMBER["other"]

_NO_PHASES, _NO_EVENTS, _NO_ROUNDS = PhaseRows.none(), EventRows.none(), RoundRows.none()
_NO_SAMPLES = SampleRows.none()


def phases(exam: Examination) -> PhaseRows:
    """The batch's ended phases that can be stored."""
    columns = exam.batch.phases
    if not columns.number:
        return _NO_PHASES
    number = exam.numbers.of["phases"]
    verdicts = exam.open_case(number)
    start, start_beyond = integers(columns.start, differences=True)
    verdicts.refuse(start_beyond | (start < 0) | (start > number), "its start is no number before its own")
    explicit = _clock(columns.clock, verdicts)
    begin = exam.times(integers(columns.begin_ns, differences=True), explicit, verdicts)
    end = exam.ends(begin, integers(columns.duration_ns), verdicts)
    name = _required(exam, columns.name, verdicts)
    kind = _within(columns.kind, 0, len(wire.KINDS) - 1, "its kind is unknown", verdicts)
    rounds = _within(columns.round, -1, MAX_ROUND, "its round is out of range", verdicts)
    thread = _within(columns.thread, 0, MAX_THREAD, "its thread is out of range", verdicts)
    parent = _within(columns.parent, -1, LIMIT, "its parent is out of range", verdicts)
    state = _within(columns.state, 0, len(wire.PHASE_STATES) - 1, "its state is unknown", verdicts)
    worker = verdicts.refuse_by(integers(columns.worker)[0], exam.name_faults, "its worker is not in names")
    attrs = verdicts.refuse_by(integers(columns.attrs)[0], exam.attr_faults, "its attributes are not in attrs")
    _no_host(exam, verdicts)
    keep = exam.close_case(verdicts, number, "phase", columns)
    return PhaseRows(
        number, start, begin, end, rounds, exam.pairs(np.where(keep, name, -1), kind), kind, thread, parent, state,
        exam.speakers(np.where(keep, worker, -1)), attrs, explicit,
    ).take(keep)  # fmt: skip


def events(exam: Examination) -> EventRows:
    """The batch's events that can be stored."""
    columns = exam.batch.events
    if not columns.number:
        return _NO_EVENTS
    number = exam.numbers.of["events"]
    verdicts = exam.open_case(number)
    time = exam.times(integers(columns.time_ns, differences=True), None, verdicts)
    name = _required(exam, columns.name, verdicts)
    rounds = _within(columns.round, -1, MAX_ROUND, "its round is out of range", verdicts)
    thread = _within(columns.thread, 0, MAX_THREAD, "its thread is out of range", verdicts)
    attrs = verdicts.refuse_by(integers(columns.attrs)[0], exam.attr_faults, "its attributes are not in attrs")
    _no_host(exam, verdicts)
    keep = exam.close_case(verdicts, number, "event", columns)
    pair = exam.pairs(np.where(keep, name, -1), np.full(len(number), _OTHER))
    return EventRows(number, time, rounds, pair, thread, attrs).take(keep)


def samples(exam: Examination) -> tuple[SampleRows, list[SeriesKey]]:
    """The batch's readings that can be stored, and the series that they belong to."""
    batch, columns = exam.batch, exam.batch.samples
    if not columns.number:
        return _NO_SAMPLES, []
    number = exam.numbers.of["samples"]
    verdicts = exam.open_case(number)
    time = exam.times(integers(columns.time_ns, differences=True), _clock(columns.clock, verdicts), verdicts)
    metric_faults = [_metric_fault(metric) for metric in batch.metrics]
    metric = verdicts.refuse_by(integers(columns.metric)[0], metric_faults, "its metric is not in metrics")
    verdicts.refuse(metric < 0, "its metric is not in metrics")
    device = verdicts.refuse_by(integers(columns.device)[0], exam.name_faults, "its device is not in names")
    worker = verdicts.refuse_by(integers(columns.worker)[0], exam.name_faults, "its worker is not in names")
    if exam.host_stream:
        verdicts.refuse(worker >= 0, "a shipper's own sample names a worker")
    value, wrong = readings(columns.value)
    verdicts.refuse(wrong, "its value is no number")
    rounds = _within(columns.round, -1, MAX_ROUND, "its round is out of range", verdicts)
    keep = exam.close_case(verdicts, number, "sample", columns)
    # A series' worker, device and metric as one integer, both indices moved up so that "none" is 0.
    width = len(batch.names) + 1
    code = (np.where(keep, metric, 0) * width + device + 1) * width + worker + 1
    distinct, series = first_use(code[keep])
    keys = [_series_key(exam, each // width // width, each // width % width - 1, each % width - 1) for each in distinct]
    return SampleRows(number[keep], time[keep], rounds[keep], series, value[keep]), keys


def rounds(exam: Examination) -> RoundRows:
    """The batch's begins and ends of rounds that can be stored."""
    columns = exam.batch.rounds
    if not columns.number:
        return _NO_ROUNDS
    number = exam.numbers.of["rounds"]
    verdicts = exam.open_case(number)
    begin = exam.times(integers(columns.begin_ns, differences=True), None, verdicts)
    end = exam.ends(begin, integers(columns.duration_ns), verdicts)
    index = _within(columns.round, 0, MAX_ROUND, "its round is out of range", verdicts)
    ended = _within(columns.ended, 0, 1, "a round begins (0) or ends (1)", verdicts)
    _no_host(exam, verdicts)
    keep = exam.close_case(verdicts, number, "round", columns)
    return RoundRows(number, index, ended == 1, begin, end).take(keep)


def _series_key(exam: Examination, metric: int, device: int, worker: int) -> SeriesKey:
    measured = exam.batch.metrics[metric]
    return SeriesKey(
        worker=exam.speaker(worker),
        metric=measured.name,
        unit=measured.unit,
        source=measured.source,
        device="" if device < 0 else exam.batch.names[device],
    )


def _within(values: list[int], least: int, most: int, reason: str, verdicts: Verdicts) -> Ints:
    if (column := uniform(values, least, most)) is not None:
        return column
    column, beyond = integers(values)
    if within(column, least, most) and not beyond.any():
        return column
    wrong = beyond | (column < least) | (column > most)
    verdicts.refuse(wrong, reason)
    return np.where(wrong, least, column)


def _clock(values: list[int], verdicts: Verdicts) -> Mask:
    explicit: Mask = _within(values, 0, 1, "its clock is neither 0 nor 1", verdicts) == 1
    return explicit


def _required(exam: Examination, values: list[int], verdicts: Verdicts) -> Ints:
    name = verdicts.refuse_by(integers(values)[0], exam.name_faults, "its name is not in names")
    verdicts.refuse(name < 0, "its name is not in names")
    return name


def _no_host(exam: Examination, verdicts: Verdicts) -> None:
    if exam.host_stream:
        verdicts.refuse(np.ones(verdicts.count, np.bool_), "a shipper's own stream holds samples only")


def _metric_fault(metric: wire.Metric) -> str | None:
    if metric.unit and (fault := wire.name_fault(metric.unit, _MAX_UNIT_CHARS)):
        return fault
    return wire.name_fault(metric.name) or (None if metric.source in _SOURCES else "its source is unknown")
