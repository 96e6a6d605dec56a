"""The team's tokens: who made each, what it may do, when it was used, and when it ends."""

import datetime as dt

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.teams import tokens
from dashboard.teams.access import current_team, may_change, owns
from dashboard.teams.meant import elsewhere
from dashboard.teams.names import all_seen
from dashboard.teams.sign_in import signed_in

_ENDED = 20
_DAYS = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), ("", "never")]


class TokenForm(forms.Form):
    """What a new token is called, may do, and for how long."""

    name = forms.CharField(max_length=128, label="What is it for?")
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
    days = forms.ChoiceField(choices=_DAYS, initial="365", required=False, label="It ends")

    def clean_name(self) -> str:
        """One that can be read."""
        name: str = self.cleaned_data["name"]
        if not all_seen(name):
            raise forms.ValidationError("It has characters that cannot be seen.")
        return name

    @property
    def expires_at(self) -> dt.datetime | None:
        """When it ends; None for never."""
        days = self.cleaned_data["days"]
        return timezone.now() + dt.timedelta(days=int(days)) if days else None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def team_tokens(request: HttpRequest) -> HttpResponse:
    """List them; a POST makes one, whose text is in this one answer and nowhere else."""
    team = current_team(request)
    if back := elsewhere(request, team):
        return back
    allowed, form, text = may_change(request.user, team), TokenForm(), ""
    if request.method == "POST":
        if not allowed:
            raise PermissionDenied
        form = TokenForm(request.POST)
        if form.is_valid():
            told = form.cleaned_data
            text = tokens.issue_for(request, team, told["name"], told["scopes"], form.expires_at)
            form = TokenForm()
    context = {
        "team": team, "allowed": allowed, "owns": owns(request.user, team), "form": form, "token_text": text,
        "tab": "tokens", "tokens": tokens.of(team), "ended": tokens.ended(team, _ENDED), "now": timezone.now(),
    }  # fmt: skip
    return render(request, "teams/tokens.html", context)
