"""What one transaction brought to a run: what its viewers are to be told, once it is committed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from ingest.feed.events import Events
from ingest.feed.messages import Beat, LostRecords, Spans
from ingest.store.arrivals import Floats, Ints


@dataclass(slots=True)
class Readings:
    """Samples as columns; `series` holds Series.id, times are Unix ns."""

    series: Ints
    time_ns: Ints
    value: Floats


@dataclass(slots=True)
class News:
    """The news of one run. `numbers` maps Stream.id to ranges [first, last]; sets hold row ids, `names`
    indices.

    `rounds` are the indexes of rounds touched, `turned` workers whose state changed, `ended` whether an
    attempt did, `counted` whether records were lost or refused.
    """

    run_id: UUID
    spans: list[Spans] = field(default_factory=list)
    events: list[Events] = field(default_factory=list)
    readings: list[Readings] = field(default_factory=list)
    gaps: list[LostRecords] = field(default_factory=list)
    beats: dict[int, Beat] = field(default_factory=dict)
    numbers: dict[int, list[list[int]]] = field(default_factory=dict)
    lanes: set[int] = field(default_factory=set)
    attempts: set[int] = field(default_factory=set)
    names: set[int] = field(default_factory=set)
    series: set[int] = field(default_factory=set)
    rounds: set[int] = field(default_factory=set)
    turned: set[int] = field(default_factory=set)
    run_changed: bool = False
    ended: bool = False
    counted: bool = False


@dataclass(slots=True)
class HostNews:
    """Samples of a machine, which the feed of every running run with a worker on it shows."""

    team_id: UUID
    machine: str
    stream_id: int
    readings: list[Readings] = field(default_factory=list)
    numbers: list[list[int]] = field(default_factory=list)
    series: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Bulletin:
    """All news of one transaction."""

    runs: dict[UUID, News] = field(default_factory=dict)
    hosts: dict[int, HostNews] = field(default_factory=dict)

    def run(self, run_id: UUID) -> News:
        """The news of a run."""
        return self.runs.setdefault(run_id, News(run_id))

    def host(self, team_id: UUID, machine: str, stream_id: int) -> HostNews:
        """The news of a shipper's own stream."""
        return self.hosts.setdefault(stream_id, HostNews(team_id, machine, stream_id))

    @property
    def records(self) -> int:
        """How many phases, events, readings and heartbeats it tells of, which is what keeping it costs."""
        told = [len(spans.begin_ns) for news in self.runs.values() for spans in news.spans]
        told += [len(events.time_ns) for news in self.runs.values() for events in news.events]
        told += [len(news.beats) for news in self.runs.values()]
        told += [len(readings.series) for news in self.runs.values() for readings in news.readings]
        told += [len(readings.series) for host in self.hosts.values() for readings in host.readings]
        return sum(told)


def merged(bulletins: Iterable[Bulletin]) -> Bulletin:
    """Several transactions' news as one, in their order."""
    whole = Bulletin()
    for bulletin in bulletins:
        for run_id, news in bulletin.runs.items():
            _merge(whole.run(run_id), news)
        for stream_id, host in bulletin.hosts.items():
            into = whole.host(host.team_id, host.machine, stream_id)
            into.readings += host.readings
            into.numbers += host.numbers
            into.series |= host.series
    return whole


def _merge(into: News, news: News) -> None:
    into.spans += news.spans
    into.events += news.events
    into.readings += news.readings
    into.gaps += news.gaps
    into.beats |= news.beats
    for stream_id, numbers in news.numbers.items():
        into.numbers.setdefault(stream_id, []).extend(numbers)
    for name in ("lanes", "attempts", "names", "series", "rounds", "turned"):
        getattr(into, name).update(getattr(news, name))
    into.run_changed |= news.run_changed
    into.ended |= news.ended
    into.counted |= news.counted
