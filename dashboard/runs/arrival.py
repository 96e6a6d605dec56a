"""The wait for a training's first record, from the page that connects it to that run's live page."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect

from dashboard.teams import tokens
from dashboard.teams.access import current_team
from dashboard.teams.models import Team
from dashboard.teams.sign_in import signed_in
from ingest.queries import first_records

_WAITS = "waits_for_first_record"


def wait(request: HttpRequest, team: Team, token: str = "") -> None:
    """Remember what the team's newest record is, and the token that is waited for, if it was just made."""
    request.session[_WAITS] = {
        "team": str(team.pk),
        "after": first_records.newest(team.pk),
        "token": tokens.find(team, token) if token else None,
    }


@never_cache
@require_safe
@signed_in
def arrival(request: HttpRequest) -> HttpResponse:
    """Lead to the run whose first record has come since; 204 until then."""
    team = current_team(request)
    waits = request.session.get(_WAITS)
    if not waits or waits["team"] != str(team.pk):
        return HttpResponse(status=204)
    run = first_records.run_after(team.pk, waits["after"], token=waits["token"])
    if run is None:
        return HttpResponse(status=204)
    del request.session[_WAITS]
    return HttpResponseClientRedirect(reverse("live:run", args=[run]))
