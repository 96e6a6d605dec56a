"""A person's own account: name, e-mail address, password, second factor, single sign-on."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.forms import DisconnectForm
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.teams.access import person
from dashboard.teams.audit import audit_of_person
from dashboard.teams.models import Area, User
from dashboard.teams.pages.join import PersonForm
from dashboard.teams.sign_in import signed_in


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def account(request: HttpRequest) -> HttpResponse:
    """Show it; a POST changes name and address, ends single sign-on, or signs all other browsers out."""
    who = person(request)
    form = PersonForm(instance=User.objects.get(pk=who.pk))
    if request.method == "POST":
        if other := _OTHERWISE.get(request.POST.get("do", "")):
            return other(request)
        was = (who.username, who.email)
        form = PersonForm(request.POST, instance=User.objects.get(pk=who.pk))
        if form.is_valid():
            return _saved(request, form, was)
    return render(request, "teams/account.html", _of(who) | {"form": form})


def _saved(request: HttpRequest, form: PersonForm, was: tuple[str, str]) -> HttpResponse:
    row = form.save()
    # Addresses that allauth keeps beside the account's sign in as well.
    EmailAddress.objects.filter(user=row).exclude(email__iexact=row.email).delete()
    pairs = zip(was, (row.username, row.email), strict=True)
    changed = [f"{old or 'none'} to {new or 'none'}" for old, new in pairs if old != new]
    if changed:
        audit_of_person(request, row, Area.ACCOUNT, f"changed name or address: {', '.join(changed)}")
        messages.success(request, "Your account is changed.")
    return redirect("account")


def _disconnect(request: HttpRequest) -> HttpResponse:
    form = DisconnectForm({"account": request.POST.get("account", "")}, request=request)
    if form.is_valid():
        form.save()
    else:
        messages.error(request, "It stays connected: set a password first, or you could not sign in any more.")
    return redirect("account")


def _end_others(request: HttpRequest) -> HttpResponse:
    row = User.objects.get(pk=person(request).pk)
    User.objects.filter(pk=row.pk).update(sessions_ended=F("sessions_ended") + 1)
    row.refresh_from_db()
    update_session_auth_hash(request, row)
    audit_of_person(request, row, Area.ACCOUNT, "signed all other browsers out")
    messages.success(request, "All other browsers are signed out.")
    return redirect("account")


_OTHERWISE = {"disconnect": _disconnect, "end_others": _end_others}


def _of(who: User) -> dict[str, Any]:
    factors: dict[str, Any] = {}
    for row in Authenticator.objects.filter(user=who).order_by("pk"):
        factors.setdefault(row.type, []).append(row)
    codes = factors.get(Authenticator.Type.RECOVERY_CODES)
    return {
        "factors": factors, "codes_left": len(codes[0].wrap().get_unused_codes()) if codes else 0,
        "single_sign_on": settings.OIDC_NAME, "connected": SocialAccount.objects.filter(user=who).order_by("pk"),
        "memberships": who.memberships.select_related("team").order_by("team__name"),
    }  # fmt: skip
