"""The statements that all rules about readings share: a run's series of some metrics, and what was read of them."""

from ingest.queries.live import STREAMS_OF_RUN

SERIES = f"""
SELECT c.id, w.index, coalesce(nullif(t.machine, ''), w.machine), c.metric, c.device
FROM ({STREAMS_OF_RUN}) AS s JOIN ingest_stream t ON t.id = s.id JOIN ingest_series c ON c.stream_id = s.id
LEFT JOIN ingest_worker w ON w.id = coalesce(c.worker_id, t.worker_id)
WHERE c.metric = ANY(%s) ORDER BY t.index
"""  # noqa: S608 - ours
SAMPLES = """
SELECT series_id, time_ns, value FROM ingest_sample
WHERE series_id = ANY(%s::int8[]) AND time_ns BETWEEN %s AND %s AND arrived >= %s ORDER BY series_id, time_ns LIMIT %s
"""
SAMPLE_TYPES = {"series": "int8", "time_ns": "int8", "value": "float8"}
