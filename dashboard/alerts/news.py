"""What has opened lately, for the toasts of open pages."""

import datetime as dt

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.alerts import listing, message
from dashboard.alerts.told import Told
from dashboard.teams.access import choice_of

# An incident is told within its transaction, which may be seen some time after: it is looked for so long.
_OVERLAP = dt.timedelta(seconds=10)
# A page that was asleep for longer has the inbox.
_LONGEST = dt.timedelta(minutes=10)


@never_cache
@require_safe
def news(request: HttpRequest) -> HttpResponse:
    """Incidents of the team that opened since `?since=` (Unix milliseconds; now if left out), as JSON.

    `now` is what to ask with the next time. An incident may be told twice, with the same `key`, and some that opened
    shortly before: who asks for the first time only remembers their keys.
    """
    team = choice_of(request)[1]
    now = timezone.now()
    if team is None and request.user.is_authenticated:  # pages ask for somebody without a team, too
        return JsonResponse({"now": int(now.timestamp() * 1000), "opened": []})
    if team is None:
        return JsonResponse({"detail": "Sign in first."}, status=403)
    since = max(_moment(request.GET.get("since", ""), now) - _OVERLAP, now - _LONGEST)
    opened = []
    for row in listing.opened_since(team.pk, since):
        told = message.content(row, row.finding, Told.OPENED)
        key = f"{row.pk}@{row.told_at.isoformat()}" if row.told_at else str(row.pk)
        opened.append(
            {"key": key, "title": told["title"], "page": told["page"], "url": reverse("alerts:alert", args=[row.pk])}
        )
    return JsonResponse({"now": int(now.timestamp() * 1000), "opened": opened})


def _moment(text: str, now: dt.datetime) -> dt.datetime:
    """The time that a page says; what is none, or lies ahead, is now."""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        return now
    try:
        return min(dt.datetime.fromtimestamp(int(text) / 1000, dt.UTC), now)
    except (OverflowError, ValueError, OSError):
        return now
