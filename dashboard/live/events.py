"""One event as the page reads it: whose, when, and all that was told with it."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse

from dashboard.live.guard import data_view, needed
from dashboard.live.reading import in_thread
from ingest.models import Run
from ingest.queries.live_events import EventDetail, event_detail
from ingest.queries.one_snapshot import one_snapshot


@data_view
async def event(request: HttpRequest, run: Run) -> HttpResponseBase:
    """Everything known of one event, `?attempt=&number=&near_ns=`, as JSON; `near_ns` is about when it was."""
    asked = [needed(request, name) for name in ("attempt", "number", "near_ns")]
    detail = await in_thread(_detail, run, *asked)
    if detail is None:
        raise Http404
    answer = JsonResponse(_json(detail))
    answer["Cache-Control"] = "no-store"
    return answer


def _detail(run: Run, attempt: int, number: int, near_ns: int) -> EventDetail | None:
    with one_snapshot() as cursor:
        return event_detail(cursor, run, attempt, number, near_ns)


def _json(detail: EventDetail) -> dict[str, Any]:
    """Times as text: JavaScript's numbers do not hold Unix nanoseconds."""
    plain = ("attempt", "attempt_number", "number", "name", "round", "thread", "attrs")
    error_ns = detail.clock_error_ns
    return {
        **{name: getattr(detail, name) for name in plain},
        "lane": detail.worker.index,
        "worker": detail.worker.name,
        "time_ns": str(detail.time_ns),
        "clock_error_s": None if error_ns is None else error_ns / 1e9,
    }
