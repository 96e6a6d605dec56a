"""One transaction's intake: takes resolved batches one by one, keeps what is fresh, and gathers what follows."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from ingest.models.multiranges import Range
from ingest.store.arrivals import PhaseRows, RoundRows
from ingest.store.fresh import Fresh, fresh
from ingest.store.generations import Part
from ingest.store.ledger import Ledger
from ingest.store.lives import Lives, beat
from ingest.store.news import Bulletin, News
from ingest.store.parts import Parts
from ingest.store.resolve import Resolved
from ingest.store.states import Change
from ingest.store.stream_rows import StreamRow
from ingest.store.superseded import without_superseded
from ingest.store.tables import Tables


class Intake:
    """Gathers rows of all tables; nothing reaches the database before `save`."""

    def __init__(self, now: dt.datetime) -> None:
        """Begin with nothing; `now` is when the records arrive (UTC)."""
        self._now = now
        self._tables = Tables(now.date())
        self._ledger = Ledger()
        self._news = Bulletin()
        self.lives = Lives()
        self.parts = Parts()
        self.rows: dict[int, StreamRow] = {}

    def take(self, resolved: Resolved, row: StreamRow) -> int:
        """Take a batch of the locked stream; returns how many of its records are refused."""
        self.rows[row.id] = row
        new = without_superseded(fresh(resolved, row.take(resolved.arrival)), row.id)
        rejects = [*resolved.arrival.rejects, *new.no_room]
        lost, gaps = self._ledger.lose(resolved, row, new.numbers)
        refused = self._ledger.refuse(row, rejects, new.numbers)
        row.stored += sum(end - first for first, end in new.numbers) - lost - refused
        ended = self.lives.take(resolved, row, new.numbers)
        newest = row.hear(resolved.arrival, self._now)
        if resolved.stream.run_id is None:
            self._take_host(resolved, new)
            return len(rejects)
        news = self._news.run(resolved.stream.run_id)
        news.gaps += gaps
        news.counted |= bool(lost or refused)
        news.ended |= ended
        self._take_records(resolved, new, news)
        if newest or ended:
            news.beats[resolved.stream.attempt] = beat(resolved, row)
            news.names.update(phase["phase"] for phase in news.beats[resolved.stream.attempt].opens)
        return len(rejects)

    def save(self) -> None:
        """Write records, gaps and refused records, within the caller's transaction."""
        self._tables.copy()
        self._ledger.save()

    def runs(self) -> set[UUID]:
        """The runs that were heard of."""
        return set(self._news.runs)

    def bulletin(
        self, touched: Mapping[UUID, set[int]], changes: Sequence[Change], changed: Iterable[UUID]
    ) -> Bulletin:
        """The news, with what saving brought up: rounds touched, workers turned, runs changed."""
        for run_id, indexes in touched.items():
            self._news.run(run_id).rounds |= indexes
        for change in changes:
            self._news.run(change.run_id).turned.update(change.worker_ids)
        for run_id in changed:
            self._news.run(run_id).run_changed = True
        return self._news

    def _take_host(self, resolved: Resolved, new: Fresh) -> None:
        stream = resolved.stream
        host = self._news.host(stream.team_id, stream.machine, stream.id)
        readings = self._tables.add_samples(new.samples, resolved)
        host.readings.append(readings)
        host.series.update(readings.series.tolist())
        host.numbers += _inclusive(new.numbers)

    def _take_records(self, resolved: Resolved, new: Fresh, news: News) -> None:
        stream = resolved.stream
        if len(new.phases):
            spans = self._tables.add_phases(new.phases, resolved)
            news.spans.append(spans)
            news.names.update(spans.phase.tolist())
            self._derive(new.phases, resolved)
        if len(new.events):
            events = self._tables.add_events(new.events, resolved)
            news.events.append(events)
            news.names.update(events.name.tolist())
        if len(new.samples):
            readings = self._tables.add_samples(new.samples, resolved)
            news.readings.append(readings)
            news.series.update(readings.series.tolist())
        self._take_rounds(new.rounds, resolved)
        news.numbers.setdefault(stream.id, []).extend(_inclusive(new.numbers))
        news.attempts.add(stream.id)
        news.lanes |= {ref.id for ref in resolved.workers if ref} | {stream.worker_id or 0}

    def _derive(self, phases: PhaseRows, resolved: Resolved) -> None:
        """Note which workers had phases in which rounds, and when."""
        within = phases.take(phases.round >= 0)
        workers = [resolved.stream.worker_id, *(ref.id if ref else None for ref in resolved.workers)]
        codes = within.round * len(workers) + within.worker + 1
        for code in sorted(set(codes.tolist())):
            index, place = divmod(code, len(workers))
            mine = codes == code
            span = (int(within.begin_ns[mine].min()), int(within.end_ns[mine].max()))
            self.parts.derive(_part(resolved, workers[place], index, span, derived=True))

    def _take_rounds(self, rounds: RoundRows, resolved: Resolved) -> None:
        """Note begins and ends of rounds."""
        columns = (rounds.round.tolist(), rounds.ended.tolist(), rounds.begin_ns.tolist(), rounds.end_ns.tolist())
        for index, ended, begin_ns, end_ns in zip(*columns, strict=True):
            span = (begin_ns, end_ns if ended else None)
            self.parts.recorded(_part(resolved, resolved.stream.worker_id, index, span, derived=False))


def _part(
    resolved: Resolved, worker_id: int | None, index: int, span: tuple[int, int | None], *, derived: bool
) -> Part:
    stream = resolved.stream
    if stream.run_id is None or worker_id is None:
        raise ValueError("a shipper's own stream takes part in no round")
    return Part(
        run_id=stream.run_id,
        stream_id=stream.id,
        worker_id=worker_id,
        index=index,
        began_at=stream.began_at,
        own=worker_id == stream.worker_id,
        begin_ns=span[0],
        end_ns=span[1],
        derived=derived,
    )


def _inclusive(numbers: Sequence[Range]) -> list[list[int]]:
    return [[first, end - 1] for first, end in numbers]
