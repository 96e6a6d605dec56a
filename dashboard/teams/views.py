"""Signing in by link, and choosing the team to look at."""

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from dashboard.teams import login_links
from dashboard.teams.access import choose_team
from dashboard.teams.sign_in import signed_in


@never_cache
@require_GET
def login_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Sign in whoever the link was made for. HEAD, and a browser's own look ahead, do not use it up."""
    if "prefetch" in request.headers.get("Sec-Purpose", ""):
        return HttpResponse(status=503)
    user = login_links.consume(secret)
    if user is None:
        return render(request, "teams/link_used.html", status=410)
    request.signed_in_by = "a link"  # type: ignore[attr-defined]
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect(settings.LOGIN_REDIRECT_URL)


@require_POST
@signed_in
def switch_team(request: HttpRequest, slug: str) -> HttpResponse:
    """Look at another team of one's own from now on."""
    choose_team(request, slug)
    return redirect(settings.LOGIN_REDIRECT_URL)
