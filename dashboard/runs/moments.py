"""Links to a moment of a run: its live page, looking at a round or at one phase of it."""

from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

_ROOM = 0.08  # of what is looked at, at either side
_LEAST_NS = 1_000


def link(
    run_id: UUID, *, index: int, begin_ns: int | None = None, end_ns: int | None = None,
    span: tuple[int, int] | None = None,
) -> str:  # fmt: skip
    """The address of a round, from `begin_ns` to `end_ns` (Unix ns), and of a phase in it (attempt, start number).

    Without an end, as of a round that is open, the page looks where it would anyway.
    """
    query: dict[str, str | int] = {}
    if begin_ns is not None and end_ns is not None:
        room = round(max(end_ns - begin_ns, _LEAST_NS) * _ROOM)
        query |= {"from": begin_ns - room, "to": max(end_ns, begin_ns + _LEAST_NS) + room}
    query["round"] = index
    if span is not None:
        query["sel"] = f"{span[0]}.{span[1]}"
    return f"{reverse('live:run', args=[run_id])}?{urlencode(query)}"
