"""Forms of pages about the current team: another tab may have chosen another team since such a page was made."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.teams.models import Team


def elsewhere(request: HttpRequest, team: Team) -> HttpResponse | None:
    """Return the way back to the page, with word that nothing was saved, where a form's `team` is another than this."""
    if request.POST.get("team", team.slug) == team.slug:
        return None
    said = "Nothing was saved: that page was made for another team than the one you look at now."
    messages.error(request, said)
    return redirect(request.path)
