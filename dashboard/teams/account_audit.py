"""What people do to their own accounts, written down as Django and allauth tell of it."""

from typing import Any

from allauth.account import signals as account
from allauth.mfa import signals as mfa
from allauth.socialaccount import signals as single_sign_on
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from dashboard.teams.audit import audit_of_person
from dashboard.teams.models import Area, User

_SECOND_FACTORS = {"totp": "the authenticator app", "recovery_codes": "recovery codes", "webauthn": "a security key"}


@receiver(user_logged_in)
def _signed_in(request: HttpRequest | None, user: User, **_: Any) -> None:
    by = getattr(request, "signed_in_by", "")
    audit_of_person(request, user, Area.SIGN_IN, f"signed in{f' by {by}' if by else ''}")


@receiver(account.password_set)
@receiver(account.password_changed)
def _password(request: HttpRequest, user: User, **_: Any) -> None:
    audit_of_person(request, user, Area.ACCOUNT, "set a password")


@receiver(mfa.authenticator_added)
def _second_factor_added(request: HttpRequest, user: User, authenticator: Any, **_: Any) -> None:
    audit_of_person(request, user, Area.ACCOUNT, f"added {_SECOND_FACTORS[authenticator.type]} as a second factor")


@receiver(mfa.authenticator_removed)
def _second_factor_removed(request: HttpRequest, user: User, authenticator: Any, **_: Any) -> None:
    audit_of_person(request, user, Area.ACCOUNT, f"removed {_SECOND_FACTORS[authenticator.type]} as a second factor")


@receiver(mfa.authenticator_reset)
def _recovery_codes_made(request: HttpRequest, user: User, **_: Any) -> None:
    audit_of_person(request, user, Area.ACCOUNT, "made new recovery codes")


@receiver(single_sign_on.social_account_added)
def _connected(request: HttpRequest, sociallogin: Any, **_: Any) -> None:
    audit_of_person(request, sociallogin.user, Area.ACCOUNT, "connected single sign-on")


@receiver(single_sign_on.social_account_removed)
def _disconnected(request: HttpRequest, socialaccount: Any, **_: Any) -> None:
    audit_of_person(request, socialaccount.user, Area.ACCOUNT, "disconnected single sign-on")
