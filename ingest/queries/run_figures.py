"""A run summed up: percentiles over its rounds, who took part on which devices, and the most memory that was held."""

import re
from collections import Counter
from collections.abc import Iterable
from uuid import UUID

import numpy as np
from django.db import connection

from ingest.detection.facts import Floats, Kind
from ingest.models import Run, RunFigures
from ingest.queries import run_rounds
from ingest.queries.fixed_rows import read_columns
from ingest.queries.peaks import Peaks, peaks_of
from ingest.queries.run_rounds import Rounds

_MOST_PARTS = 50_000  # trainers' rounds of which encode times are read
_PERCENTILES = (5, 50, 95)
_DEVICES = re.compile(r"(\d{1,4}) x ([^,]{1,100})")

# What is nested in a phase of the same kind is part of it. An attempt that was begun again is one of its own.
_ENCODES = """
SELECT sum(p.end_ns - p.begin_ns) / 1e9
FROM ingest_phase p JOIN ingest_worker w ON w.id = p.worker_id
WHERE p.run_id = %s AND p.round BETWEEN %s AND %s AND p.kind = %s AND p.arrived BETWEEN %s AND %s
  AND w.role = 'trainer' AND (p.parent < 0 OR NOT EXISTS (
      SELECT 1 FROM ingest_phase o
      WHERE o.stream_id = p.stream_id AND o.start_number = p.parent AND o.kind = p.kind AND o.run_id = p.run_id))
GROUP BY p.worker_id, p.stream_id, p.round
"""
_CREW = """
SELECT w.id, w.machine, coalesce((
    SELECT c.facts->>'devices' FROM ingest_stream s JOIN ingest_conditions c ON c.stream_id = s.id
    WHERE s.worker_id = w.id ORDER BY s.attempt DESC LIMIT 1), '')
FROM ingest_worker w WHERE w.run_id = %s AND w.role = 'trainer'
"""


def of(run_id: UUID) -> tuple[Run, RunFigures] | None:
    """The run and its figures as of now, not stored; None where it is gone."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return None
    before = RunFigures.objects.filter(pk=run_id).values_list("sampled_ns", flat=True).first()
    rounds = run_rounds.newest(run).measured
    with connection.cursor() as cursor:
        cursor.execute(_CREW, [run_id])
        crew = cursor.fetchall()
    machines = len({machine for _, machine, _ in crew if machine})
    device, devices = counted((machine or str(key), told) for key, machine, told in crew)
    encodes = _encodes(run, rounds, len(crew))
    peaks = peaks_of(run, before)
    row = RunFigures(run=run, device=device, devices=devices, trainers=len(crew), machines=machines)
    _measure(row, rounds, _shares(rounds, machines), encodes)
    _remember(row, peaks)
    return run, row


def counted(told: Iterable[tuple[str, str]]) -> tuple[str, int]:
    """From what trainers said of their machine's devices ("2 x A40, 1 x T4"): the commonest model, and how many of it.

    Those that share a machine share its devices.
    """
    most: dict[tuple[str, str], int] = {}
    for machine, text in told:
        for count, model in _DEVICES.findall(text):
            key = machine, model.strip()
            most[key] = max(most.get(key, 0), int(count))
    models: Counter[str] = Counter()
    for (_, model), count in most.items():
        models[model] += count
    return min(models.items(), key=lambda each: (-each[1], each[0])) if models else ("", 0)


def _shares(rounds: Rounds, machines: int) -> Floats:
    """The shares of the wall that trainers transfer between nodes, as analyses know them.

    Of a run without any, as the kinds of its phases tell: an analysis knows what a transfer only waited for, so that
    the two are not of one measure. Empty where there is none, or it is unknown.
    """
    analysed = run_rounds.communication(rounds).comm
    if analysed or machines < 2:
        return np.array(analysed, float)
    return rounds.kind_s[:, int(Kind.TRANSFER)] / rounds.wall_s


def _encodes(run: Run, rounds: Rounds, trainers: int) -> Floats:
    newest = rounds.index[-max(1, _MOST_PARTS // max(trainers, 1)) :]
    kind = int(Kind.ENCODE)
    if not len(newest) or not run.phase_names.filter(kind=kind).exists():
        return np.empty(0)
    limits = [run.pk, int(newest[0]), int(newest[-1]), kind, run.first_day, run.last_day]
    with connection.cursor() as cursor:
        return read_columns(cursor, _ENCODES, limits, {"seconds": "float8"})["seconds"]


def _three(values: Floats) -> tuple[float | None, float | None, float | None]:
    known = values[np.isfinite(values)]
    if not len(known):
        return None, None, None
    low, middle, high = np.percentile(known, _PERCENTILES).tolist()
    return low, middle, high


def _measure(row: RunFigures, rounds: Rounds, shares: Floats, encodes: Floats) -> None:
    row.rounds = len(rounds.index)
    row.newest_ns = int(rounds.end_ns.max()) if row.rounds else None
    row.round_s_p5, row.round_s, row.round_s_p95 = _three(rounds.wall_s)
    row.waiting_share_p5, row.waiting_share, row.waiting_share_p95 = _three(rounds.waiting)
    row.comm_share_p5, row.comm_share, row.comm_share_p95 = _three(shares)
    row.encode_s_p5, row.encode_s, row.encode_s_p95 = _three(encodes)


def _remember(row: RunFigures, peaks: Peaks) -> None:
    row.memory_peak_bytes, row.memory_peak_worker = peaks.memory, peaks.worker
    row.device_peak_bytes, row.sampled_ns = peaks.device, peaks.sampled_ns
