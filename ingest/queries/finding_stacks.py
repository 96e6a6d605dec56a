"""Thread stacks as a finding shows them: of some of its phases, the first threads, the innermost frames."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from ingest.detection.verdicts import Mark
from ingest.models import PhaseName, Run
from ingest.queries.live_stacks import EVENT, Stacks, stack_state

_MOST_PHASES = 4
_MOST_THREADS = 4
_MOST_FRAMES = 16


def taken(run_id: UUID, marks: Sequence[Mark], known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a finding's evidence says of the stacks of phases that it marks: what is `known`, and what has come.

    Each is {"attempt", "start", "lane", "time_ns", "threads": [{"name", "frames": [[file, line, function]]}],
    "failed"}.
    """
    there = {(one["attempt"], one["start"]) for one in known}
    wanted = [mark for mark in marks[:_MOST_PHASES] if mark[:2] not in there][: _MOST_PHASES - len(known)]
    if not wanted or not PhaseName.objects.filter(run_id=run_id, name=EVENT).exists():
        return list(known)
    run = Run.objects.get(pk=run_id)
    with connection.cursor() as cursor:
        states = [(mark, stack_state(cursor, run, mark[0], mark[1])) for mark in wanted]
    return [*known, *(_told(mark, state.stacks) for mark, state in states if state and state.stacks)]


def _told(mark: Mark, stacks: Stacks) -> dict[str, Any]:
    return {
        "attempt": mark[0],
        "start": mark[1],
        "lane": mark[2],
        "time_ns": str(stacks.time_ns),  # JavaScript's numbers do not hold it
        "threads": [
            {"name": thread.name, "frames": [list(frame) for frame in thread.frames[:_MOST_FRAMES]]}
            for thread in stacks.threads[:_MOST_THREADS]
        ],
        "failed": stacks.failed,
    }
