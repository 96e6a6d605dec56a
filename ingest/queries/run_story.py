"""What was found in a run, with the times of the rounds it speaks of; and its workers by machine."""

from collections.abc import Collection
from dataclasses import dataclass, field

from django.db.models import BooleanField, ExpressionWrapper, Q

from ingest.models import Finding, Round, Run, Worker
from ingest.models.findings import FindingState

MOST_FINDINGS = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """A round's time, Unix nanoseconds; `end_ns` is None while it is open."""

    round: int
    begin_ns: int
    end_ns: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """A finding with the moment that it is best seen at, and the phase it marks there as (attempt, start number)."""

    finding: Finding
    moment: Moment | None
    span: tuple[int, int] | None

    @property
    def open(self) -> bool:
        """Whether it goes on."""
        return self.finding.state == FindingState.OPEN


@dataclass(frozen=True, slots=True)
class Member:
    """A worker as a list of them tells it; of a thousand, rows of the model would take longer to make than to read."""

    name: str
    role: str
    rank: int | None
    host: str
    site: str | None
    state: str
    state_reason: str


@dataclass(slots=True)
class Machine:
    """Workers that ran on a machine, in order; `name` is "" where no machine was told."""

    name: str
    hosts: list[str] = field(default_factory=list)
    workers: list[Member] = field(default_factory=list)


def findings(run: Run) -> list[Told]:
    """Open ones first, then the newest; `MOST_FINDINGS` at most."""
    goes_on = ExpressionWrapper(Q(state=FindingState.OPEN), BooleanField())
    rows = Finding.objects.filter(run=run).defer("evidence").order_by(goes_on.desc(), "-opened_at", "pk")
    marks = [(row, _mark(row)) for row in rows[:MOST_FINDINGS]]
    moments = _moments(run, {round_ for _, (round_, _) in marks if round_ is not None})
    return [Told(row, moments.get(-1 if round_ is None else round_), span) for row, (round_, span) in marks]


def machines(run: Run) -> list[Machine]:
    """In order of their first worker."""
    found: dict[str, Machine] = {}
    rows = Worker.objects.filter(run=run).order_by("index").values_list("machine", *Member.__slots__)
    for name, *rest in rows:
        worker = Member(*rest)
        machine = found.setdefault(name, Machine(name))
        machine.workers.append(worker)
        if worker.host and worker.host not in machine.hosts:
            machine.hosts.append(worker.host)
    return list(found.values())


def _mark(finding: Finding) -> tuple[int | None, tuple[int, int] | None]:
    """The newest round that a finding speaks of, and the phase that it marks in it."""
    if finding.spans:
        attempt, start, _, round_ = finding.spans[-1]
        return round_, (attempt, start)
    return max(finding.rounds, default=None), None


def _moments(run: Run, indexes: Collection[int]) -> dict[int, Moment]:
    """By number, of the newest generation of each."""
    rows = Round.objects.filter(run=run, index__in=indexes).order_by("index", "generation")
    return {index: Moment(index, begin, end) for index, begin, end in rows.values_list("index", "begin_ns", "end_ns")}
