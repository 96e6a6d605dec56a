"""What is concluded of one round by itself, as the page reads it: whole nanoseconds, times since the round's begin."""

import threading
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse

from dashboard.live.guard import data_view, needed
from dashboard.live.reading import in_thread
from ingest.detection import round_analysis
from ingest.feed.starting import start
from ingest.models import Round, Run
from ingest.queries import analysing, intervals, rounds
from ingest.store import analyses

_computing = threading.Lock()  # of viewers who ask for the same round at once, one has it computed
_MOST_INDEX = (1 << 31) - 1


@data_view
async def analysis(request: HttpRequest, run: Run) -> HttpResponseBase:
    """What kept a round's GPUs waiting, its critical path, what-ifs and intervals, `?round=`, as JSON.

    `state` is "ready", "open" for a round that has not closed, "asked" for one of so many phases that Celery analyses
    it, or "absent" where none of its phases are kept; only what is ready has more than the round's own figures.
    """
    answer = JsonResponse(await in_thread(_told, run, needed(request, "round")))
    answer["Cache-Control"] = "no-store"
    return answer


def _told(run: Run, index: int) -> dict[str, Any]:
    row, stamp = _row(run, index), intervals.asked(run).stamp
    found = rounds.asked_analysis_of(row, stamp)
    if found is None and row.closed:
        if analysing.is_long(row):
            start("ingest.analyse_round", str(row.run_id), row.index, row.generation)
            return analysis_json(row, None) | {"state": "asked"}
        with _computing:
            row = _row(run, index)
            found = rounds.asked_analysis_of(row, stamp) or _computed(row)
    return analysis_json(row, found)


def _row(run: Run, index: int) -> Round:
    row = rounds.one(run, index, None) if index <= _MOST_INDEX else None
    if row is None:
        raise Http404
    return row


def _computed(row: Round) -> dict[str, Any] | None:
    due = analysing.due(row.run_id, row.index, row.generation)
    if due is None:
        return None
    found = round_analysis.told(due.given)
    analyses.save(due.id, due.version, found)
    return found


def analysis_json(row: Round, found: dict[str, Any] | None) -> dict[str, Any]:
    """A round and its analysis, as detection.round_analysis tells it, or None."""
    state = "open" if not row.closed else "absent" if found is None else "ready"
    own = {"round": row.index, "generation": row.generation, "state": state, "coverage": row.coverage,
           "judged": row.judged}  # fmt: skip
    if found is None or state != "ready":
        return own
    begin_ns = found["begin_ns"]
    plain = ("trainers", "waiting_ns", "waiting", "what_if", "communication", "unclaimed")
    return {
        **own,
        **{name: found[name] for name in plain},
        "begin_ns": str(begin_ns),  # JavaScript's numbers do not hold it
        "wall_ns": found["end_ns"] - begin_ns,
        "path": [_piece(one, begin_ns) for one in found["path"]],
        "intervals": [_interval(one, begin_ns) for one in found["intervals"]],
    }


def _piece(one: dict[str, Any], begin_ns: int) -> dict[str, Any]:
    kept = {name: one[name] for name in ("worker", "phase", "kind", "gap", "error_ns")}
    return {**kept, "at_ns": one["begin_ns"] - begin_ns, "ns": one["end_ns"] - one["begin_ns"]}


def _interval(one: dict[str, Any], begin_ns: int) -> dict[str, Any]:
    # What was concluded before intervals told their boundaries has none.
    kept = {
        name: one.get(name, "")
        for name in ("name", "between", "most_s", "passed", "abstained", "error_ns", "not_instrumented_ns")
    }
    length = None if one["abstained"] else one["end_ns"] - one["begin_ns"]
    return {**kept, "ns": length, "parts": [_piece(part, begin_ns) for part in one["parts"]]}
