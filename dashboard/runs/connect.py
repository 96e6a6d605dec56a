"""Connecting a run: what to install and paste, and the team's tokens."""

from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.runs import arrival
from dashboard.teams import tokens
from dashboard.teams.access import current_team, may_change
from dashboard.teams.meant import elsewhere
from dashboard.teams.models import Team
from dashboard.teams.sign_in import signed_in

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class TokenForm(forms.Form):
    """What a new token is called and may do."""

    name = forms.CharField(max_length=128, initial="training hosts", label="What is it for?")
    scopes = forms.MultipleChoiceField(
        choices=[
            ("ingest", "send runs (ingest)"),
            ("read", "read runs over REST (read)"),
            ("admin", "change and delete runs (admin)"),
        ],
        initial=["ingest"],
        widget=forms.CheckboxSelectMultiple,
        label="What may it do?",
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def connect(request: HttpRequest) -> HttpResponse:
    """Show the way; a POST makes a token, whose text is in this one answer and nowhere else."""
    team = current_team(request)
    if back := elsewhere(request, team):
        return back
    allowed = may_change(request.user, team)
    form, text, sends = TokenForm(), "", False
    if request.method == "POST":
        if not allowed:
            raise PermissionDenied
        form = TokenForm(request.POST)
        if form.is_valid():
            text = tokens.issue_for(request, team, form.cleaned_data["name"], form.cleaned_data["scopes"])
            sends = "ingest" in form.cleaned_data["scopes"]
            form = TokenForm()
            if sends:
                arrival.wait(request, team, text)
    elif request.GET.get("wait"):
        arrival.wait(request, team)
    context = {
        "team": team,
        "allowed": allowed,
        "form": form,
        "token_text": text,
        "sending_token": text if sends else "",
        "waiting": bool(sends or (request.method != "POST" and request.GET.get("wait"))),
        "tokens": tokens.of(team),
        "own_token": _own_token(team),
        "server_url": settings.PUBLIC_URL,
        "only_here": urlsplit(settings.PUBLIC_URL).hostname in _LOOPBACK,
    }
    return render(request, "runs/connect.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Ask whether to; a POST makes the token worthless, at once for this server and within 30 s everywhere."""
    team = current_team(request)
    if not may_change(request.user, team):
        raise PermissionDenied
    if request.method != "POST":
        token = get_object_or_404(tokens.of(team), pk=token_id)
        return render(request, "runs/revoke.html", {"token": token, "own": token.pk == _own_token(team)})
    name = tokens.revoke(request, team, token_id)
    messages.success(request, f"The token “{name}” no longer works.")
    return redirect("connect")


def _own_token(team: Team) -> int | None:
    """The team's token with which this installation's own agent reports, None where it is of another team."""
    kept = settings.DATA.token
    return tokens.find(team, kept.read_text().strip()) if kept.exists() else None
