"""The columns of the list of runs: a new one is a line here and a cell in runs/row.html."""

from collections.abc import Collection
from dataclasses import dataclass

from dashboard.runs.models import ChosenColumns
from dashboard.teams.access import Visitor, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`sort` is its name among run_orders.SORTED_BY where it can be sorted by, `says` what it means."""

    key: str
    label: str
    sort: str = ""
    says: str = ""
    number: bool = False
    shown: bool = True
    ascending: bool = False  # the way it is sorted when first asked for


COLUMNS = (
    Column(key="state", label="State"),
    Column(
        key="gpus", label="GPUs", sort="gpus",
        says="Trainers and the devices of their hosts, one for each trainer; workers where no device is known",
    ),
    Column(key="workers", label="Workers", shown=False),
    Column(
        key="round", label="Round", sort="round", number=True, says="Rounds that ended, of those planned"
    ),
    Column(key="duration", label="Duration", sort="duration", number=True),
    Column(
        key="gpu_hours", label="GPU-hours", sort="gpu_hours", number=True, says="Trainers with a device, times hours"
    ),
    Column(
        key="throughput", label="Items/s", sort="throughput", number=True, shown=False,
        says="Training samples or tokens that phases say they carried, by the wall time of the last 40 rounds",
    ),
    Column(
        key="round_time", label="Round time", sort="round_time", number=True,
        says="Median wall time of a round, warm-up left out",
    ),
    Column(key="curve", label="Last 40 rounds"),
    Column(
        key="waiting", label="GPU waiting", sort="waiting", number=True,
        says="Share of the round in which a trainer is in no compute phase: mean over trainers, median of rounds, "
        "warm-up left out; amber from 30 %",
    ),
    Column(
        key="went", label="Where the round went",
        says="Trainers' mean time by kind of phase, of the wall time of the last 40 rounds",
    ),
    Column(
        key="longest", label="Longest wait", sort="longest",
        says="The phase other than compute that takes most of the critical path of the newest rounds, and its share; "
        "of rounds too short to have a path, the kind of phase that takes most of the trainers' time",
    ),
    Column(key="findings", label="Findings", sort="findings"),
    Column(key="tags", label="Tags", shown=False),
    Column(key="person", label="Person", shown=False, says="Whose account on the host it ran under"),
    Column(key="started", label="Started", sort="started", shown=False),
)  # fmt: skip
NAME = Column(key="name", label="Run", sort="name", ascending=True)


def chosen_by(user: Visitor) -> list[str]:
    """Keys of the columns that the person sees."""
    row = ChosenColumns.objects.filter(user_id=key_of(user)).first()
    return [one.key for one in COLUMNS if (one.shown if row is None else one.key in row.names)]


def choose(user: Visitor, names: Collection[str]) -> None:
    """Show these from now on; those of the beginning where there is none among them."""
    kept = [one.key for one in COLUMNS if one.key in names]
    if kept:
        ChosenColumns.objects.update_or_create(user_id=key_of(user), defaults={"names": kept})
    else:
        ChosenColumns.objects.filter(user_id=key_of(user)).delete()
