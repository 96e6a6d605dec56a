"""What has opened lately, for the toasts of open pages."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.alerts import hearers, listing, message
from dashboard.alerts.models import Alert
from dashboard.teams.access import choice_of

# An incident is told within its transaction, which may be seen some time after: it is looked for so long.
_OVERLAP = dt.timedelta(seconds=10)
# A page that was asleep for longer has the inbox.
LONGEST = dt.timedelta(minutes=10)


@never_cache
@require_safe
def news(request: HttpRequest) -> HttpResponse:
    """Incidents of `?team=` (its slug) that opened since `?since=` (Unix milliseconds; now if left out), as JSON.

    `now` is what to ask with the next time. An incident may be told twice, with the same `key`, and some that opened
    shortly before: who asks for the first time only remembers their keys. Where no team is said, the one that is looked
    at counts. Who was answered here is answered before Django for a while (dashboard.project.news).
    """
    teams, team = choice_of(request)
    now = timezone.now()
    if team is None and request.user.is_authenticated:  # pages ask for somebody without a team, too
        return JsonResponse(told([], now, now))
    if team is None:
        return JsonResponse({"detail": "Sign in first."}, status=403)
    if "team" in request.GET:
        team = next((each for each in teams if each.slug == request.GET["team"]), None)
    if team is None:
        raise Http404("no such team")
    hearers.let_in(request.session.session_key or "", team.slug)
    since = since_of(request.GET.get("since", ""), now)
    return JsonResponse(told(listing.opened_since(team.slug, since), since, now))


def told(rows: Iterable[Alert], since: dt.datetime, now: dt.datetime) -> dict[str, Any]:
    """What a page is told of those of these alerts that people were told of since then."""
    opened = []
    for row in rows:
        if row.told_at is not None and row.told_at > since:
            key, url = f"{row.pk}@{row.told_at.isoformat()}", reverse("alerts:alert", args=[row.pk])
            opened.append({"key": key, "title": message.line(row.finding), "page": row.pages, "url": url})
    return {"now": int(now.timestamp() * 1000), "opened": opened[-listing.MOST_NEWS :]}


def since_of(text: str, now: dt.datetime) -> dt.datetime:
    """From when on incidents are told to who says that time; what is none, or lies ahead, is now."""
    return max(_moment(text, now) - _OVERLAP, now - LONGEST)


def _moment(text: str, now: dt.datetime) -> dt.datetime:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        return now
    try:
        return min(dt.datetime.fromtimestamp(int(text) / 1000, dt.UTC), now)
    except (OverflowError, ValueError, OSError):
        return now
