"""The tab Export of a run: files of it for other programs, how far each has come, and Perfetto."""

from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.runs.exports import sending
from dashboard.runs.exports.formats import FORMATS, Format
from dashboard.teams.access import run_for
from dashboard.teams.sign_in import signed_in
from ingest.models import Export, Run
from ingest.models.exports import ExportState
from ingest.queries import exports as queries
from ingest.store import exports as store

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Line:
    """An export as the page shows it; `file` is where it is to be had, `share` how much of it is made, in percent."""

    row: Export
    format: Format
    share: int
    file: str

    @property
    def is_going(self) -> bool:
        """Whether it is still being made."""
        return self.row.state in (ExportState.WAITING, ExportState.RUNNING)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def exports(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the run's exports; asked by the page itself, only its changing part; a POST has a file made.

    Whoever may see the run may have it as a file.
    """
    run = run_for(request.user, run_id)
    if request.method == "POST":
        return _made(request, run)
    lines = _lines(run)
    is_going = any(line.is_going for line in lines)
    part = render_to_string("runs/exports_table.html", {"lines": lines})
    context = {
        "run": run, "part": part, "version": sha256(part.encode()).hexdigest()[:16], "is_going": is_going,
        "url": request.path,
    }  # fmt: skip
    if not request.htmx:  # type: ignore[attr-defined]
        trace = reverse("rest:run_trace", args=[run.pk]) if sending.is_short(run) else ""
        return render(request, "runs/export.html", context | {"formats": FORMATS.values(), "trace": trace})
    if request.GET.get("seen") == context["version"]:
        return HttpResponse(status=204)
    return render(request, "runs/exports_part.html", context)


def _made(request: HttpRequest, run: Run) -> HttpResponse:
    wanted = FORMATS.get(request.POST.get("format", ""))
    if wanted is None:
        raise Http404("no such format")
    try:
        store.ask(run, wanted.key, request.user.pk)
    except store.TooManyError:
        said = f"Your team has {store.MOST_WAITING} exports that are being made: wait for one of them."
        messages.error(request, said)
    return redirect("exports", run.pk)


def _lines(run: Run) -> list[Line]:
    return [_line(row) for row in queries.listed(run, after=None, limit=_SHOWN).items if row.format in FORMATS]


def _line(row: Export) -> Line:
    share = 100 * row.records // row.records_total if row.records_total else 0
    file = reverse("rest:export_file", args=[row.run_id, row.pk]) if row.state == ExportState.DONE else ""
    return Line(row, FORMATS[row.format], min(share, 99), file)
