"""Inviting people: a link for one person and one role, shown once, that ends by use, by revocation, or after a week."""

import datetime as dt
import hashlib
import secrets

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from dashboard.teams.access import owns
from dashboard.teams.audit import audit
from dashboard.teams.models import Area, Invitation, Membership, Role, Team, User

LIFETIME = dt.timedelta(days=7)
MOST_OPEN = 100


class TooManyError(ValueError):
    """So many are open that more would only be forgotten."""


@transaction.atomic
def make(request: HttpRequest, team: Team, role: Role, email: str = "") -> str:
    """Return the address of a new invitation, which cannot be had again.

    Raises TooManyError, and PermissionDenied where the person who asks owns the team no more.
    """
    # Behind who changes members: what an owner invites while being removed would not end with the rest.
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if not owns(request.user, team):
        raise PermissionDenied
    if open_ones(team).count() >= MOST_OPEN:
        raise TooManyError(f"{MOST_OPEN} invitations are open; revoke some first")
    secret = secrets.token_urlsafe(32)
    by = request.user if isinstance(request.user, User) else None
    Invitation.objects.create(
        team=team, role=role, email=email, digest=_digest(secret), made_by=by, expires_at=timezone.now() + LIFETIME
    )
    audit(request, team, Area.INVITATION, f"invited {email or 'somebody'} as {role}")
    return settings.PUBLIC_URL + reverse("join", args=[secret])


def open_ones(team: Team) -> QuerySet[Invitation]:
    """Those of a team that can still be used, newest first."""
    return _open().filter(team=team).order_by("-pk")


def find(secret: str) -> Invitation | None:
    """The invitation of a link; None where it is unknown, used, revoked or expired."""
    return _open().filter(digest=_digest(secret)).select_related("team", "made_by").first()


@transaction.atomic
def revoke(request: HttpRequest, team: Team, key: int) -> None:
    """Make an invitation of the team worthless; raises Http404 where it is none, or ended meanwhile."""
    row = get_object_or_404(open_ones(team).select_for_update(), pk=key)
    row.revoked_at = timezone.now()
    row.save(update_fields=["revoked_at"])
    audit(request, team, Area.INVITATION, f"revoked the invitation of {row.email or 'somebody'} as {row.role}")


def end_those_of(request: HttpRequest, team: Team, person: User) -> None:
    """Make worthless what a person invited to a team, who owns it no more: a link kept aside would lead back in."""
    ended = open_ones(team).filter(made_by=person).update(revoked_at=timezone.now())
    if ended:
        open_so_far = f"{ended} open invitation{'' if ended == 1 else 's'}"
        audit(request, team, Area.INVITATION, f"ended {open_so_far} of {person.username}, who owns the team no more")


@transaction.atomic
def accept(request: HttpRequest, invitation: Invitation, person: User) -> bool:
    """Use an invitation up for a person; False where it ended meanwhile. Who is a member already stays as they are."""
    # Compare and swap: of two people with the same link one wins.
    mine = _open().filter(pk=invitation.pk)
    if not mine.update(used_at=timezone.now(), used_by=person):
        return False
    _, joined = Membership.objects.get_or_create(team=invitation.team, user=person, defaults={"role": invitation.role})
    if joined:
        by = invitation.made_by.username if invitation.made_by else "somebody who is gone"
        audit(request, invitation.team, Area.MEMBER, f"joined as {invitation.role}, invited by {by}", by=person)
    return True


def _open() -> QuerySet[Invitation]:
    return Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
