"""The law of a batch's tables: no more entries than its records can point to, for each costs the server work."""

from ingest.api.numbers import records_in
from ingest.store.arrivals import Fault
from roundwatch import wire

_SLACK = 16


def require_tables(batch: wire.Batch, field: str) -> None:
    """Raise Fault 422 where names, metrics or attrs have more entries than the batch's records use."""
    records = records_in(batch)
    most = {"names": 2 * records + len(batch.open), "metrics": records, "attrs": records}  # a name and a worker each
    for table, used in most.items():
        if len(getattr(batch, table)) > used + _SLACK:
            raise Fault(422, "tables", "A table has more entries than the records use.", f"{field}.{table}")
