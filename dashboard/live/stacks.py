"""Thread stacks of a phase's process: those that were taken, and asking for them while the phase is open."""

import time
from dataclasses import asdict
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse

from dashboard.live.guard import RefusedError, asking_view, needed
from dashboard.live.reading import in_thread
from dashboard.teams.access import may_change
from ingest.models import Run
from ingest.queries.live_stacks import Stacks, StackState, stack_state
from ingest.queries.one_snapshot import one_snapshot
from ingest.store.asks import ask_for_stacks

Visitor = AbstractBaseUser | AnonymousUser


@asking_view
async def stacks(request: HttpRequest, run: Run) -> HttpResponseBase:
    """The newest of one phase, `?attempt=&start=`, as JSON; a POST asks its process for new ones."""
    ask = request.method == "POST"
    attempt, start = needed(request, "attempt"), needed(request, "start")
    said = await in_thread(_said, run, attempt, start, user=request.user, ask=ask)
    answer = JsonResponse(said, status=202 if ask else 200)
    answer["Cache-Control"] = "no-store"
    return answer


def _said(run: Run, attempt: int, start: int, *, user: Visitor, ask: bool) -> dict[str, Any]:
    state = _state(run, attempt, start)
    may_ask = may_change(user, run.team)
    if ask:
        if not may_ask:
            raise RefusedError(403, "viewer", "viewers of a team may look, and not ask its processes")
        if not ask_for_stacks(state.stream, start):
            raise RefusedError(409, "not_open", "the phase has ended: its process does something else by now")
    return {
        "open": state.open,
        "may_ask": may_ask,
        "heard_s": max(0.0, (time.time_ns() - state.heard_ns) / 1e9),
        "stacks": state.stacks and _stacks_json(state.stacks, state.begin_ns),
    }


def _state(run: Run, attempt: int, start: int) -> StackState:
    with one_snapshot() as cursor:
        state = stack_state(cursor, run, attempt, start)
    if state is None:
        raise Http404
    return state


def _stacks_json(stacks: Stacks, begin_ns: int) -> dict[str, Any]:
    """`after_s` is how long the phase had lasted; times as text, since JavaScript's numbers do not hold them."""
    after_s = (stacks.time_ns - begin_ns) / 1e9
    return asdict(stacks) | {"time_ns": str(stacks.time_ns), "after_s": after_s}
