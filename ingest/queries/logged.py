"""What a training logs of itself: the newest values of some metrics, worker by worker."""

from collections.abc import Collection
from itertools import groupby
from math import nan
from uuid import UUID

import numpy as np
from django.db import connection

from ingest.detection import finding_kinds
from ingest.detection.training_health import KIND, Series
from ingest.models import Finding, Run
from ingest.models.findings import FindingState, Severity
from ingest.queries.live import STREAMS_OF_RUN, streams_of

_MOST_SERIES = 64  # a loss is the same on all ranks, or nearly: some tell for all
_VALUES = 80
_NEWEST = """
WITH chosen AS (
    SELECT c.id, w.name, c.metric FROM ingest_series c
    JOIN ingest_stream s ON s.id = c.stream_id JOIN ingest_worker w ON w.id = coalesce(c.worker_id, s.worker_id)
    WHERE s.run_id = %s AND c.metric = ANY(%s) AND c.device = '' AND s.attempt = w.attempt
    ORDER BY w.index, c.metric LIMIT %s)
SELECT chosen.id, chosen.name, chosen.metric, read.time_ns, read.value
FROM chosen CROSS JOIN LATERAL (
    SELECT time_ns, value, number FROM ingest_sample
    WHERE series_id = chosen.id AND arrived BETWEEN %s AND %s ORDER BY time_ns DESC LIMIT %s) AS read
ORDER BY chosen.id, read.time_ns, read.number
"""
_SAMPLED = f"""
SELECT EXISTS (SELECT 1 FROM ({STREAMS_OF_RUN}) AS s JOIN ingest_series c ON c.stream_id = s.id
WHERE c.source <> 'training' AND c.metric <> ALL(%s))
"""  # noqa: S608 - ours


def newest(run: Run, metrics: Collection[str]) -> list[Series]:
    """The newest values of the metrics in each worker's present attempt, oldest first."""
    usual = _usual(run.pk)
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [run.pk, sorted(metrics), _MOST_SERIES, run.first_day, run.last_day, _VALUES])
        found = []
        for (_, worker, metric), rows in groupby(cursor.fetchall(), lambda row: row[:3]):
            _, _, _, times, values = zip(*rows, strict=True)
            time_ns, value = np.array(times, np.int64), np.array(values, np.float64)
            found.append(Series(worker=worker, metric=metric, time_ns=time_ns, value=value,
                                usual=usual.get((worker, metric), nan)))  # fmt: skip
    return found


def _usual(run_id: UUID) -> dict[tuple[str, str], float]:
    """What was usual of a worker's metric when it was last found bad: detection wrote it into the evidence."""
    rows = Finding.objects.filter(run=run_id, kind=KIND).order_by("updated_at").values_list("evidence", flat=True)
    return {(one["worker"], one["metric"]): one["value"] for told in rows for one in told.get("usual", [])}


def reads_infrastructure(run: Run, but: Collection[str]) -> bool:
    """Whether anything is sampled of the run's processes, devices or machines; metrics `but` are the training's own."""
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLED, [*streams_of(run), sorted(but)])
        return bool(cursor.fetchone()[0])


def disturbances(run_id: UUID, but: str) -> list[str]:
    """What else is open in the run, in a few words each: not of kind `but`, nor what is only worth knowing."""
    rows = Finding.objects.filter(run_id=run_id, state=FindingState.OPEN).exclude(kind=but)
    told = rows.exclude(severity=Severity.INFO).order_by("kind", "phase").values_list("kind", "phase")
    return [finding_kinds.headline(kind, phase) for kind, phase in told[:8]]
