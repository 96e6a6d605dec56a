"""The heat map of a run: how long each worker spent in a phase, round by round, beside the others."""

from base64 import b64encode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.live.guard import data_view, optional
from dashboard.live.reading import in_line
from dashboard.teams.access import run_for
from dashboard.teams.sign_in import signed_in
from ingest.models import Run
from ingest.queries import heat as queries
from ingest.queries import run_words
from ingest.queries.one_snapshot import one_snapshot

_MOST_CHARS = 128


@never_cache
@require_safe
@signed_in
def page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The page, with the phases to choose from; it asks for the figures itself."""
    run = run_for(request.user, run_id)
    with one_snapshot() as cursor:
        known = queries.named(cursor, run)
    phase = _phase(request) or known.usual
    names = known.names if phase in known.names or not phase else [phase, *known.names]
    context = {"run": run, "phase": phase, "names": names, "words": run_words.of_run(run.pk)}
    return render(request, "live/heat.html", context)


@data_view
async def figures(request: HttpRequest, run: Run) -> HttpResponseBase:
    """Seconds by worker and round of `?phase=`, in the rounds up to `?until=`, as JSON.

    `seconds` is the base64 of little-endian float32, worker by worker; NaN where a worker has no such phase.
    """
    found = await in_line(_heat, run, _phase(request), optional(request, "until"))
    answer = JsonResponse({
        "phase": found.phase, "workers": found.workers, "rounds": found.rounds, "earlier": found.earlier,
        "later": found.later, "seconds": b64encode(found.seconds.astype("<f4").tobytes()).decode(),
    })  # fmt: skip
    answer["Cache-Control"] = "no-store"
    return answer


def _heat(run: Run, phase: str, until: int | None) -> queries.Heat:
    with one_snapshot() as cursor:
        return queries.heat(cursor, run, phase, until)


def _phase(request: HttpRequest) -> str:
    """A phase's name; no row can hold NUL, and Postgres must not be asked for it."""
    return request.GET.get("phase", "").replace("\0", "\ufffd")[:_MOST_CHARS]
