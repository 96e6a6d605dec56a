"""Quiet hours of a channel: from and to by the clocks of a place, over midnight where `to` is earlier."""

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from dashboard.alerts.models import Channel

UTC = "UTC"


@cache
def zones() -> frozenset[str]:
    """The names of all places whose clocks are known."""
    return frozenset({UTC, *available_timezones()})


def until(channel: Channel, now: dt.datetime) -> dt.datetime | None:
    """When the quiet hours that `now` lies in are over, in UTC; None where it lies in none.

    Where clocks are turned over the end, it is the first moment at which they show it or more.
    """
    begin, end = channel.quiet_from, channel.quiet_to
    if begin is None or end is None or begin == end:
        return None
    local = now.astimezone(ZoneInfo(channel.quiet_zone if channel.quiet_zone in zones() else UTC))
    time = local.time()
    if not (begin <= time < end if begin < end else time >= begin or time < end):
        return None
    day = local.date() if time < end else local.date() + dt.timedelta(days=1)
    over = dt.datetime.combine(day, end, local.tzinfo).astimezone(dt.UTC)
    return over if over > now else None
