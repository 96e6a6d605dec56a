"""REST: what is concluded of one round by itself, in the shapes of its answer."""

from typing import Any

from dashboard.runs.api.shapes import seconds_between, time_of
from ingest.detection import round_analysis
from ingest.feed.starting import start
from ingest.models import Round
from ingest.queries import analysing, rounds
from ingest.store import analyses

_NOT_COMPUTED = dict.fromkeys(("gpu_waiting", "critical_path", "what_if", "intervals", "communication"))


def shape(row: Round, stamp: str) -> dict[str, Any]:
    """The fields of a round whose analysis is there; null for what is not computed yet.

    `stamp` is that of the intervals that are asked for now: those of another time are not told.
    """
    found = rounds.analysis_of(row)
    if found is None:
        return _NOT_COMPUTED
    return _shape(found) if found.get("asked", "") == stamp else _shape(found) | {"intervals": None}


def shape_now(row: Round, stamp: str) -> dict[str, Any]:
    """The same of a closed round that somebody asks for: computed, and kept for the next, where it is not there.

    One of very many phases is left to Celery, and null until it has been there.
    """
    found = rounds.asked_analysis_of(row, stamp)
    if found is None and row.closed:
        if analysing.is_long(row):
            start("ingest.analyse_round", str(row.run_id), row.index, row.generation)
        elif (due := analysing.due(row.run_id, row.index, row.generation)) is not None:
            found = round_analysis.told(due.given)
            analyses.save(due.id, due.version, found)
    return _shape(found) if found is not None else _NOT_COMPUTED


def _shape(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "gpu_waiting": [_waiting(share, found["trainers"]) for share in found["waiting"]],
        "critical_path": [_segment(one) for one in found["path"]],
        "what_if": _what_if(found["what_if"]),
        "intervals": [_interval(one) for one in found["intervals"]],
        "communication": found["communication"],
    }


def _segment(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "worker": one["worker"], "phase": one["phase"], "kind": one["kind"], "start": time_of(one["begin_ns"]),
        "end": time_of(one["end_ns"]), "seconds": seconds_between(one["begin_ns"], one["end_ns"]), "gap": one["gap"],
        "clock_error_s": one["error_ns"] / 1e9,
    }  # fmt: skip


def _waiting(share: dict[str, Any], trainers: int) -> dict[str, Any]:
    return {
        "worker": share["worker"], "phase": share["phase"], "kind": share["kind"], "gap": share["gap"],
        "seconds": (share["own_ns"] + share["others_ns"]) / trainers / 1e9,
        "others_gpu_seconds": share["others_ns"] / 1e9,
    }  # fmt: skip


def _what_if(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The joint set first, if there is one of several, then the scopes by what they save."""
    told = [_fix(fix) for fix in found["fixes"]]
    joint = found["joint"]
    if joint is None or len(joint["items"]) < 2:
        return told
    together = {"scope": {"joint": joint["items"]}, "seconds_saved": joint["saved_ns"] / 1e9}
    return [together | {"seconds_added": None, "gpu_seconds_waited": None}, *told]


def _fix(fix: dict[str, Any]) -> dict[str, Any]:
    return {
        "scope": fix["scope"], "seconds_saved": fix["saved_ns"] / 1e9, "seconds_added": fix["added_ns"] / 1e9,
        "gpu_seconds_waited": fix["waited_ns"] / 1e9,
    }  # fmt: skip


def _interval(one: dict[str, Any]) -> dict[str, Any]:
    measured = not one["abstained"]
    return {
        "name": one["name"],
        "between": one.get("between", ""),
        "seconds": (one["end_ns"] - one["begin_ns"]) / 1e9 if measured else None,
        "check": None if one["most_s"] is None else f"<= {one['most_s']:g} s",
        "passed": one["passed"],
        "clock_error_s": one["error_ns"] / 1e9 if measured else None,
        "not_instrumented_s": one["not_instrumented_ns"] / 1e9 if measured else None,
        "parts": [_segment(part) for part in one["parts"]],
        "abstained": one["abstained"],
    }
