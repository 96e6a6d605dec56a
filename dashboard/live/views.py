"""The live page of a run, and what it loads over HTTP."""

import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.live import snapshot as pictures
from dashboard.live.guard import data_view, needed, optional
from dashboard.live.reading import in_line, in_thread
from dashboard.live.steps import step_json
from dashboard.teams.access import run_for
from ingest.models import Run
from ingest.queries.anatomy import StepAnatomy, step_anatomy
from ingest.queries.live import Window
from ingest.queries.live_phase import PhaseDetail, phase_detail
from ingest.queries.live_readings import Readings
from ingest.queries.one_snapshot import one_snapshot
from ingest.queries.run_list import MUCH_WAITING

_SETTLED_NS = 20 * 10**9


@require_safe
@login_required
def page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The live page; everything on it comes from the snapshot and the socket."""
    return render(request, "live/run.html", {"run": run_for(request.user, run_id), "much_waiting": MUCH_WAITING})


@data_view
async def snapshot(request: HttpRequest, run: Run) -> HttpResponseBase:
    """Frames to begin with: `?rounds=N`, `?from_ns=&to_ns=`, or all that fits; the newest `?spans=N` phases of it."""
    most = _most_spans(request, pictures.FIRST_SPANS)
    ask = pictures.Ask(optional(request, "from_ns"), optional(request, "to_ns"), optional(request, "rounds"), most)
    return _frames(await in_line(pictures.snapshot, run.pk, ask), "no-store")


@data_view
async def spans(request: HttpRequest, run: Run) -> HttpResponseBase:
    """Frames of an older stretch, `?from_ns=&to_ns=`, the newest `?spans=N` phases of it.

    A browser may keep those of a run that has ended for a while.
    """
    window = Window(needed(request, "from_ns"), needed(request, "to_ns"))
    stretch = await in_line(pictures.history, run.pk, window, _most_spans(request, pictures.MOST_SPANS))
    answer = _frames(stretch.chunks, "private, max-age=300" if run.ended_at else "no-store")
    if stretch.from_ns is not None:  # the page asks again for what did not fit
        answer["Roundwatch-From-Ns"] = str(stretch.from_ns)
    return answer


def _most_spans(request: HttpRequest, otherwise: int) -> int:
    wanted = optional(request, "spans")
    return otherwise if wanted is None else max(1, min(wanted, pictures.MOST_SPANS))


@data_view
async def phase(request: HttpRequest, run: Run) -> HttpResponseBase:
    """Everything known of one phase, `?attempt=&start=`, as JSON."""
    detail = await in_thread(_detail, run, needed(request, "attempt"), needed(request, "start"))
    if detail is None:
        raise Http404
    answer = JsonResponse(_phase_json(detail))
    answer["Cache-Control"] = "no-store"
    return answer


@data_view
async def step(request: HttpRequest, run: Run) -> HttpResponseBase:
    """A round by rank and phase, with what of its collectives was waiting, `?round=`, as JSON."""
    found = await in_thread(_step, run, needed(request, "round"))
    if found is None:
        raise Http404
    answer = JsonResponse(step_json(found))
    answer["Cache-Control"] = "no-store"
    return answer


def _step(run: Run, index: int) -> StepAnatomy | None:
    if index >= 1 << 31:
        return None
    with one_snapshot() as cursor:
        return step_anatomy(cursor, run, index)


def _detail(run: Run, attempt: int, start: int) -> PhaseDetail | None:
    with one_snapshot() as cursor:
        return phase_detail(cursor, run, attempt, start)


def _phase_json(detail: PhaseDetail) -> dict[str, Any]:
    """Times as text: JavaScript's numbers do not hold Unix nanoseconds."""
    worker = detail.worker
    plain = ("attempt", "attempt_number", "start", "name", "kind", "round", "thread", "parent", "parent_name",
             "state", "progress", "attrs", "findings")  # fmt: skip
    end = detail.end_ns
    return {
        **{name: getattr(detail, name) for name in plain},
        "lane": worker.index,
        "worker": worker.name,
        **{name: getattr(worker, name) for name in ("role", "rank", "group", "machine", "host", "site")},
        "begin_ns": str(detail.begin_ns),
        "end_ns": None if end is None else str(end),
        "seconds": None if end is None else (end - detail.begin_ns) / 1e9,
        "clock_offset_ns": str(detail.clock_offset_ns),
        "clock_error_s": None if detail.clock_error_ns is None else detail.clock_error_ns / 1e9,
        "peers": detail.peers and asdict(detail.peers),
        "readings": _readings_json(detail.readings),
    }


def _readings_json(readings: Readings) -> dict[str, Any]:
    """`settled` says that no reading of that time is still on its way from a host that sends as it samples."""
    return {
        "seconds": (readings.end_ns - readings.begin_ns) / 1e9,
        "settled": time.time_ns() - readings.end_ns > _SETTLED_NS,
        "held": readings.held,
        "over": [asdict(each) for each in readings.over],
    }


def _frames(chunks: list[bytes], caching: str) -> HttpResponseBase:
    answer = StreamingHttpResponse(_each(chunks), content_type="application/octet-stream")
    answer["Content-Length"] = str(sum(map(len, chunks)))
    answer["Cache-Control"] = caching
    return answer


async def _each(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
