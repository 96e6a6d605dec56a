"""Who did what, when and from where: written by one function, never changed, read by the team's owners."""

import ipaddress
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard.teams.models import Area, AuditRecord, Team, User

_MOST = 500
_MOST_WHO = 200
COMMAND = "a command on the server"


def audit(
    request: HttpRequest | None, team: Team | UUID | None, area: Area, did: str, *, by: User | None = None
) -> None:
    """Write down what was done, in words that follow the name of who did it: "revoked the token “hosts”".

    `request` says who and from where; without one it was a command. `by` is who did it where the request does not know
    yet. Who calls this within a transaction has both or neither.
    """
    name = by.username if by else who(request)
    AuditRecord.objects.create(
        team=team.pk if isinstance(team, Team) else team, who=name[:_MOST_WHO], area=area,
        did=did.replace("\0", "")[:_MOST], address=address(request),
    )  # fmt: skip


def audit_of_person(request: HttpRequest | None, person: User, area: Area, did: str) -> None:
    """The same for what a person did to the own account: for each of the teams, or once without one."""
    teams: list[UUID | None] = list(person.memberships.values_list("team_id", flat=True))
    with transaction.atomic():
        for team in teams or [None]:
            audit(request, team, area, did, by=person)


def of(team: Team, area: str = "", words: str = "") -> QuerySet[AuditRecord]:
    """The records of a team, newest first; of one Area, and with these words in who or what, where they are given."""
    rows = AuditRecord.objects.filter(team=team.pk)
    if area:
        rows = rows.filter(area=area)
    if words:
        rows = rows.filter(who__icontains=words) | rows.filter(did__icontains=words)
    return rows.order_by("-id")


def who(request: HttpRequest | None) -> str:
    """What the audit calls who asks: a person's name, or the token that was shown."""
    if request is None:
        return COMMAND
    token = getattr(getattr(request, "auth", None), "token", "")
    if token:
        return str(token)
    return request.user.get_username() if request.user.is_authenticated else "a visitor"


def address(request: HttpRequest | None) -> str | None:
    """Where a request came from, behind proxies that are trusted; None where what they say is no address."""
    told = request.META.get("REMOTE_ADDR", "") if request else ""
    try:
        return str(ipaddress.ip_address(told.partition("%")[0]))
    except ValueError:
        return None
