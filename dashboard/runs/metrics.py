"""The tab Metrics of a run: numbers that the training logged or samplers read, as charts of chosen metrics."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.runs.thinning import thinned
from dashboard.teams.access import run_for
from dashboard.teams.sign_in import signed_in
from ingest.feed.messages import unix_ns
from ingest.models import Run, Worker
from ingest.queries import metrics as queries
from roundwatch.wire import MAX_NAME_CHARS

MOST_CHARTS = 8
MOST_POINTS = 800
_MOST_WORKERS = 1_024
_MOST_NAMED = 64
_FIRST = 4  # charts that a run opens with
# Where a training logs nothing: what most look for.
_USUAL = (
    "gpu_utilisation_ratio", "process_memory_bytes", "gpu_memory_used_bytes", "device_memory_allocated_bytes",
    "process_cpu_usage_cpus", "host_cpu_utilisation_ratio",
)  # fmt: skip


@never_cache
@require_safe
@signed_in
def metrics(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the charts of `?metric=` (several), of `?worker=` (several; all without), over `?x=` time or round."""
    run = run_for(request.user, run_id)
    known = queries.known(run)
    names = [metric.name for metric in known]
    wanted = [name for name in dict.fromkeys(_texts(request, "metric")) if name in names]
    chosen = wanted[:MOST_CHARTS] or _opening(known)
    of = {metric.name: metric for metric in known}
    workers = list(Worker.objects.filter(run=run).order_by("index").values_list("name", flat=True)[:_MOST_WORKERS])
    context = {
        "run": run, "tab": "metrics", "known": known, "charts": [of[name] for name in chosen], "chosen": chosen,
        "workers": workers, "named": [name for name in _texts(request, "worker") if name in workers],
        "by_round": request.GET.get("x") == "round", "most": MOST_CHARTS,
    }  # fmt: skip
    return render(request, "runs/metrics.html", context)


@never_cache
@require_safe
@signed_in
def figures(request: HttpRequest, run_id: UUID) -> JsonResponse:
    """Lines of one `?metric=`, of `?worker=` (several; all without), as JSON.

    Times `t` are seconds since the run began; a value that is no number is null and counted in `not_finite`. Of more
    than some hundred readings of a line those stay that its picture is made of.
    """
    run = run_for(request.user, run_id)
    metric = next(iter(_texts(request, "metric")), "")
    found = queries.lines(run, metric, _texts(request, "worker"))
    return JsonResponse({
        "metric": metric, "unit": next((line.unit for line in found.lines if line.unit), ""),
        "lines": [_line(run, line) for line in found.lines if len(line.time_ns)], "more": found.more,
        "cut": found.cut,
    })  # fmt: skip


def _texts(request: HttpRequest, name: str) -> list[str]:
    """Names in the query; no row can hold NUL, and Postgres must not be asked for it."""
    return [text.replace("\0", "\ufffd")[:MAX_NAME_CHARS] for text in request.GET.getlist(name)[:_MOST_NAMED] if text]


def _opening(known: Sequence[queries.Metric]) -> list[str]:
    logged = [metric.name for metric in known if metric.logged]
    names = {metric.name for metric in known}
    return logged[:_FIRST] or [name for name in _USUAL if name in names][:_FIRST] or sorted(names)[:_FIRST]


def _line(run: Run, line: queries.Line) -> dict[str, Any]:
    at = thinned(line.time_ns, line.value, MOST_POINTS)
    begun_ns = unix_ns(run.started_at) or 0
    finite = line.value[np.isfinite(line.value)]
    return {
        "worker": line.worker, "host": line.host, "device": line.device,
        "t": np.round((line.time_ns[at] - begun_ns) / 1e9, 3).tolist(), "round": line.round[at].tolist(),
        "value": [value if np.isfinite(value) else None for value in line.value[at].tolist()],
        "readings": len(line.value), "not_finite": len(line.value) - len(finite),
        "last": float(finite[-1]) if len(finite) else None,
        "low": float(finite.min()) if len(finite) else None,
        "high": float(finite.max()) if len(finite) else None,
        "mean": _mean(finite),
    }  # fmt: skip


def _mean(finite: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Divided before they are summed up: the sum of large ones would be none."""
    found = float((finite / max(1, len(finite))).sum())
    return found if len(finite) and np.isfinite(found) else None
