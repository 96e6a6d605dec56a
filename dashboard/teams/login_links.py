"""Links that sign a person in: each works once, for an hour."""

import hashlib
import secrets
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from dashboard.teams.models import LoginLink, User

LIFETIME = timedelta(hours=1)


def make(user: User) -> str:
    """Return the path of a new link; it cannot be had again. Links long expired are cleared away."""
    now = timezone.now()
    LoginLink.objects.filter(expires_at__lt=now - LIFETIME).delete()
    secret = secrets.token_urlsafe(32)
    LoginLink.objects.create(user=user, digest=_digest(secret), expires_at=now + LIFETIME)
    return reverse("login_link", args=[secret])


def consume(secret: str) -> User | None:
    """Return whom the link signs in, and use it up; None if unknown, used, expired or the account closed."""
    now = timezone.now()
    link = LoginLink.objects.filter(digest=_digest(secret)).select_related("user").first()
    if link is None or not link.user.is_active:
        return None
    # Compare and swap: of two requests with the same link one wins.
    won = LoginLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now).update(used_at=now)
    return link.user if won else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
