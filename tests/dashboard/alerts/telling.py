"""A run whose findings are told of, and a channel that leads to a real receiver."""

from dataclasses import replace
from typing import Any

from dashboard.alerts.models import Channel
from dashboard.teams.models import Team
from ingest.detection.verdicts import Verdict, fingerprint
from ingest.models import Run
from ingest.store import findings
from tests.dashboard.runs_of import make_run

NOON_NS = 1_772_366_400 * 10**9
SLOW = Verdict(
    kind="straggler", fingerprint=fingerprint("straggler", since=None, phase="encode"), phase="encode",
    severity="warning", observed="host-07 took 17.8 s to encode, its peers 1.9 s",
    hypothesis="they share one machine", workers=("host-07",), rounds=(3, 4), marks=((0, 7, 0, 4),),
    opened_ns=NOON_NS, resolved_ns=None,
    evidence={"cohorts": [{"workers": 16, "slow": [{"worker": "host-07", "excess_s": 15.9}]}]},
)  # fmt: skip


def slow_run(team: Team, **fields: Any) -> Run:
    return make_run(team, "vit-b16", **fields)


def judged(run: Run, *verdicts: Verdict) -> None:
    """What lasts in the run is now just this."""
    findings.put_lasting(run, "straggler", 0, verdicts)


def once(run: Run, index: int) -> None:
    """A worker was slow in one round, and that is over."""
    print_ = fingerprint("straggler", since=index, phase="encode")
    verdict = replace(SLOW, fingerprint=print_, rounds=(index,), resolved_ns=NOON_NS + 10**9)
    findings.put_once(run, "straggler", index, [verdict])


def hook(team: Team, url: str, **fields: Any) -> Channel:
    return Channel.objects.create(team=team, way="webhook", settings={"to": url}, **({"name": "hook"} | fields))
