"""Which findings become alerts: a team's rules, with defaults that tell of slow workers from the first run on."""

from collections.abc import Collection, Sequence

from django.db import transaction
from django.db.models import QuerySet

from dashboard.alerts.models import Channel, Rule, Setup
from dashboard.teams.models import Team
from ingest.detection import finding_kinds
from ingest.models import Finding
from ingest.models.findings import Severity

# Of work on the path nobody is ever told.
KINDS = tuple(kind for kind in finding_kinds.NAMES if kind != "work_on_path")
WAKING = ("stalled", "run_stalled", "worker_lost", "worker_failed", "out_of_memory")
# What somebody can do something about at once; of severity info nothing is ever told.
SEVERITIES = (Severity.WARNING.value, Severity.CRITICAL.value)


def of(team: Team) -> QuerySet[Rule]:
    """The team's rules by name; the first look at them makes the defaults."""
    _set_up(team)
    return Rule.objects.filter(team=team).order_by("name", "pk")


def matching(finding: Finding) -> list[Rule]:
    """The team's enabled rules that want this finding told."""
    if finding.severity not in SEVERITIES:
        return []
    rows = of(finding.run.team).filter(enabled=True).prefetch_related("channels", "escalate_to")
    return [rule for rule in rows if matches(rule, finding)]


def escalates(finding: Finding, channel: Channel, opened_as: str) -> bool:
    """Whether some rule has this channel told where nobody looks after it; `opened_as` is the severity it had then."""
    rows = Rule.objects.filter(team=finding.run.team_id, enabled=True).exclude(escalate_after=None)
    return any(matches(rule, finding, opened_as) for rule in rows.filter(escalate_to=channel))


def matches(rule: Rule, finding: Finding, *severities: str) -> bool:
    """Whether a rule asks for nothing that the finding and its run are not, be it of one of these severities, too."""
    run = finding.run
    asked: Sequence[tuple[Sequence[str], Sequence[str]]] = (
        (rule.kinds, [finding.kind]),
        (rule.severities, [finding.severity, *severities]),
        (rule.phases, [finding.phase]),
        (rule.projects, [run.project]),
        (rule.tags, run.tags),
    )
    return all(not wanted or set(wanted) & set(found) for wanted, found in asked)


def channels(team: Team, wanting: Sequence[Rule]) -> list[Channel]:
    """The enabled channels through which these rules tell; those kept for waking people only where a rule does."""
    enabled = list(Channel.objects.filter(team=team, enabled=True).order_by("pk"))
    told = set()
    for rule in wanting:
        own = {channel.pk for channel in rule.channels.all()}
        told |= {one.pk for one in enabled if tells_at_once(one, own, pages=rule.pages)}
    return [one for one in enabled if one.pk in told]


def tells_at_once(channel: Channel, own: Collection[int], *, pages: bool) -> bool:
    """Whether a rule with these channels (keys; none: all), which may wake somebody, tells this one when it opens."""
    return channel.enabled and (not own or channel.pk in own) and (pages or not channel.pages_only)


@transaction.atomic
def _set_up(team: Team) -> None:
    _, made = Setup.objects.get_or_create(team=team)
    if made:
        Rule.objects.create(team=team, name="Wake somebody", kinds=list(WAKING), pages=True)
        much = "Wake somebody for a worker that costs a tenth of each round"
        Rule.objects.create(team=team, name=much, kinds=["straggler"], severities=[Severity.CRITICAL.value], pages=True)
        Rule.objects.create(team=team, name="Slow workers", kinds=["straggler", "slow_phase", "missing"])
        others = [kind for kind in KINDS if kind not in {*WAKING, "straggler", "slow_phase", "missing"}]
        Rule.objects.create(team=team, name="Everything else", kinds=others)
