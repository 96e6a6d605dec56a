"""Who and what a view for scripts of the live page lets in: people of the run's team, with a query that makes sense.

Refusals are JSON of one shape.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse

from dashboard.live.reading import in_thread
from dashboard.teams.access import run_for
from ingest.models import Run

_LARGEST = (1 << 62) - 1
_READING = frozenset({"GET", "HEAD"})
Answer = Coroutine[Any, Any, HttpResponseBase]
DataView = Callable[[HttpRequest, Run], Answer]


class BadQueryError(Exception):
    """A query that no page of ours asks: the name of its field, and what is wrong with it."""


class RefusedError(Exception):
    """What is asked cannot be done: the status, its code, and a sentence for people."""


def data_view(view: DataView) -> Callable[[HttpRequest, UUID], Answer]:
    """A view that is only read, for scripts of the page: refused with 401 instead of a redirect to a form."""
    return guarded(view, _READING, "this can only be read")


def asking_view(view: DataView) -> Callable[[HttpRequest, UUID], Answer]:
    """The same for one to which a POST may come as well."""
    return guarded(view, _READING | {"POST"}, "this can be read, and asked for by POST")


def guarded(view: DataView, methods: frozenset[str], otherwise: str) -> Callable[[HttpRequest, UUID], Answer]:
    """The view behind its guard; `otherwise` is said where another method is used."""

    @wraps(view)
    async def let_in(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
        if request.method not in methods:
            return _refused(405, "method_not_allowed", otherwise)
        try:
            run = await in_thread(_run_for, request, run_id)
            if run is None:
                return _refused(401, "not_signed_in", "sign in first")
            return await view(request, run)
        except (Http404, Run.DoesNotExist):
            return _refused(404, "not_found", "no such run, or nothing of that kind in it")
        except BadQueryError as error:
            return _refused(422, "bad_query", error.args[1], error.args[0])
        except RefusedError as error:
            return _refused(*error.args)

    return let_in


def optional(request: HttpRequest, field: str) -> int | None:
    """A whole number of the query, None where it is not given. Raises BadQueryError."""
    text = request.GET.get(field)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or not 0 <= int(text) <= _LARGEST:
        raise BadQueryError(field, "must be a whole number")
    return int(text)


def needed(request: HttpRequest, field: str) -> int:
    """The same, which must be there."""
    value = optional(request, field)
    if value is None:
        raise BadQueryError(field, "is needed")
    return value


def _run_for(request: HttpRequest, run_id: UUID) -> Run | None:
    """The run, for whoever asks; None where nobody is signed in.

    Read as all that the view reads: a request that kept a connection of its own while it stands in line for another
    could leave none to those in front of it.
    """
    return run_for(request.user, run_id) if request.user.is_authenticated else None


def _refused(status: int, code: str, message: str, field: str | None = None) -> JsonResponse:
    return JsonResponse({"error": {"code": code, "message": message, "field": field}}, status=status)
