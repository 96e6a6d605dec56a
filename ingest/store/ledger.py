"""What was lost and what was refused, so that produced = stored + waiting + lost + refused can be shown."""

from collections.abc import Sequence

from ingest.feed.messages import LostRecords
from ingest.models import Gap, Quarantine
from ingest.models.multiranges import Range
from ingest.store import ranges
from ingest.store.arrivals import Loss, Reject
from ingest.store.resolve import Resolved
from ingest.store.stream_rows import StreamRow

# Rows kept of what was refused, for each stream; beyond, it is only counted.
_MOST_QUARANTINED = 1_000


class Ledger:
    """Gathers the gaps and refused records of one transaction."""

    def __init__(self) -> None:
        self._gaps: list[Gap] = []
        self._refused: list[Quarantine] = []

    def save(self) -> None:
        """Write them, within the caller's transaction."""
        if self._gaps:
            Gap.objects.bulk_create(self._gaps, ignore_conflicts=True)
        if self._refused:
            Quarantine.objects.bulk_create(self._refused, ignore_conflicts=True)

    def lose(self, resolved: Resolved, row: StreamRow, fresh: Sequence[Range]) -> tuple[int, list[LostRecords]]:
        """Note the batch's losses; returns how many fresh numbers stand for them, and the gaps to draw."""
        numbers, drawn = 0, []
        for loss in resolved.arrival.losses:
            for first, end in ranges.common(fresh, loss.number, loss.number + loss.span):
                span = end - first
                count = loss.count if span == loss.span else min(span, loss.count)
                numbers += span
                row.dropped += count
                self._gaps.append(_gap(row.id, loss, first, span, count))
                begin_ns, end_ns = (-1 if time is None else time for time in (loss.begin_ns, loss.end_ns))
                place = (resolved.stream.lane, resolved.stream.attempt)
                drawn.append(LostRecords(begin_ns, end_ns, count, *place))
        return numbers, drawn

    def refuse(self, row: StreamRow, rejects: Sequence[Reject], fresh: Sequence[Range]) -> int:
        """Note refused records; returns how many fresh numbers stand for them."""
        new = [each for each in rejects if ranges.common(fresh, each.number, each.number + 1)]
        room = max(_MOST_QUARANTINED - row.rejected, 0)
        self._refused += [
            Quarantine(stream_id=row.id, number=each.number, reason=each.reason, record=each.record)
            for each in new[:room]
        ]
        row.rejected += len(new)
        return len({each.number for each in new})


def _gap(stream_id: int, loss: Loss, first: int, span: int, count: int) -> Gap:
    return Gap(
        stream_id=stream_id,
        number=first,
        span=span,
        count=count,
        what=loss.what,
        reason=loss.reason,
        begin_ns=loss.begin_ns,
        end_ns=loss.end_ns,
    )
