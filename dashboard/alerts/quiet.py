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
    now_there = local(channel, now)
    time = now_there.time()
    if not (begin <= time < end if begin < end else time >= begin or time < end):
        return None
    day = now_there.date() if time < end else now_there.date() + dt.timedelta(days=1)
    over = _first(dt.datetime.combine(day, end, now_there.tzinfo))
    return over if over > now else None


def local(channel: Channel, moment: dt.datetime) -> dt.datetime:
    """A moment by the clocks of the channel's place."""
    return moment.astimezone(ZoneInfo(channel.quiet_zone if channel.quiet_zone in zones() else UTC))


def _first(shown: dt.datetime) -> dt.datetime:
    """The first moment, in UTC, at which the clocks of a place show that time or more.

    Clocks that are put forward over it show it at no moment: then it is that at which they are (PEP 495: of a time
    that is left out, both folds lie around it).
    """
    moment, wanted = shown.astimezone(dt.UTC), shown.replace(tzinfo=None)
    if moment.astimezone(shown.tzinfo).replace(tzinfo=None) == wanted:
        return moment
    before = shown.replace(fold=1).astimezone(dt.UTC)
    while moment - before > dt.timedelta(seconds=1):
        middle = before + dt.timedelta(seconds=(moment - before) // dt.timedelta(seconds=2))
        if middle.astimezone(shown.tzinfo).replace(tzinfo=None) >= wanted:
            moment = middle
        else:
            before = middle
    return moment
