"""What has opened lately, for the toasts of open pages."""

import datetime as dt

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.alerts import listing, message
from dashboard.alerts.hearers import hearer
from dashboard.teams.access import choice_of

# An incident is told within its transaction, which may be seen some time after: it is looked for so long.
_OVERLAP = dt.timedelta(seconds=10)
# A page that was asleep for longer has the inbox.
_LONGEST = dt.timedelta(minutes=10)


@never_cache
@require_safe
def news(request: HttpRequest) -> HttpResponse:
    """Incidents of `?team=` (its slug) that opened since `?since=` (Unix milliseconds; now if left out), as JSON.

    `now` is what to ask with the next time. An incident may be told twice, with the same `key`, and some that opened
    shortly before: who asks for the first time only remembers their keys.

    Every open page asks, so that the answer costs one query. Of a team that is none of the person's, and with a session
    that is over, there are no news. Where no team is said, the one that is looked at counts.
    """
    found = hearer(request)
    if found is None:
        return JsonResponse({"detail": "Sign in first."}, status=403)
    person, session = found
    team = _team(request)
    now = timezone.now()
    since = max(_moment(request.GET.get("since", ""), now) - _OVERLAP, now - _LONGEST)
    opened = []
    for row in listing.opened_since(team, since, person=person, session=session):
        key = f"{row.pk}@{row.told_at.isoformat()}" if row.told_at else str(row.pk)
        title, url = message.line(row.finding), reverse("alerts:alert", args=[row.pk])
        opened.append({"key": key, "title": title, "page": row.pages, "url": url})
    return JsonResponse({"now": int(now.timestamp() * 1000), "opened": opened})


def _team(request: HttpRequest) -> str:
    """The slug of the team that is asked for; no row can hold NUL, and Postgres must not be asked for it."""
    if "team" in request.GET:
        return request.GET["team"].replace("\0", "\ufffd")[:128]
    team = choice_of(request)[1]
    return "" if team is None else team.slug


def _moment(text: str, now: dt.datetime) -> dt.datetime:
    """The time that a page says; what is none, or lies ahead, is now."""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        return now
    try:
        return min(dt.datetime.fromtimestamp(int(text) / 1000, dt.UTC), now)
    except (OverflowError, ValueError, OSError):
        return now
