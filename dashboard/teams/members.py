"""Changing who belongs to a team, and as what: a team never loses its last owner."""

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest

from dashboard.teams import invitations
from dashboard.teams.access import owns
from dashboard.teams.audit import audit
from dashboard.teams.models import Area, Membership, Role, Team


class LastOwnerError(ValueError):
    """Nobody would own the team any more."""


def of(team: Team) -> list[Membership]:
    """The members, owners first, then by name."""
    ranks = list(Role)
    rows = Membership.objects.filter(team=team).select_related("user")
    return sorted(rows, key=lambda row: (ranks.index(Role(row.role)), row.user.username))


@transaction.atomic
def change_role(request: HttpRequest, member: Membership, role: Role) -> None:
    """Let a member have another role, and end what they invited where that is no longer theirs to do.

    Raises LastOwnerError, Http404 for somebody who has just been removed, and PermissionDenied where who asks has just
    lost the say.
    """
    row = _locked(member)
    if not owns(request.user, row.team):
        raise PermissionDenied
    if row.role == role:
        return
    if role != Role.OWNER:
        keep_an_owner(row)
    was, row.role = row.role, role
    row.save(update_fields=["role"])
    audit(request, row.team, Area.MEMBER, f"made {row.user.username} {role} (was {was})")
    if role != Role.OWNER:
        invitations.end_those_of(request, row.team, row.user)


@transaction.atomic
def remove(request: HttpRequest, member: Membership) -> None:
    """End a membership, one's own included; raises as `change_role` does."""
    row = _locked(member)
    left = row.user_id == request.user.pk
    if not left and not owns(request.user, row.team):
        raise PermissionDenied
    keep_an_owner(row)
    audit(request, row.team, Area.MEMBER, "left the team" if left else f"removed {row.user.username} ({row.role})")
    row.delete()
    invitations.end_those_of(request, row.team, row.user)


def lock(team: Team) -> None:
    """Have others who change members of the team wait until the end of the transaction: two owners may both leave."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)


def keep_an_owner(row: Membership) -> None:
    """Raise LastOwnerError where the team, which is locked, has no other owner who can sign in."""
    owners = Membership.objects.filter(team=row.team, role=Role.OWNER, user__is_active=True)
    if row.role == Role.OWNER and not owners.exclude(pk=row.pk).exists():
        raise LastOwnerError(f"{row.user.username} is the last owner; make somebody else an owner first")


def _locked(member: Membership) -> Membership:
    lock(member.team)
    row = Membership.objects.select_related("team", "user").filter(pk=member.pk).first()
    if row is None:
        raise Http404("no such member")
    return row
