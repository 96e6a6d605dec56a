"""Every answer that is not the thing asked for, in one shape: {"error": {"code", "message", "field"}}."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

_CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 422: "invalid"}


class Refusal(HttpError):  # noqa: N818 - the word of the answer, not of Python
    """Why a request is refused, with the field that it is about."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        """Say all of it."""
        super().__init__(status, message)
        self.field = field


def answer(status: int, code: str, message: str, field: str | None = None) -> HttpResponse:
    """An error as JSON."""
    return JsonResponse({"error": {"code": code, "message": message, "field": field}}, status=status)


def handle_errors(api: NinjaAPI) -> None:
    """Make `api` answer errors in this shape."""
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(HttpError, _refused)
    api.add_exception_handler(Http404, _missing)


def only_these_methods(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The view, with JSON for a method that it does not have."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if not isinstance(response, HttpResponseNotAllowed):
            return response
        refusal = answer(405, "method_not_allowed", f"{request.method} is not possible here.")
        refusal["Allow"] = response["Allow"]
        return refusal

    # Without cookies a script has no CSRF token; ours are checked where a session is used (access.py).
    answered.csrf_exempt = True  # type: ignore[attr-defined]
    return answered


def _invalid(_request: HttpRequest, error: Any) -> HttpResponse:
    first = error.errors[0] if error.errors else {}
    places = [str(part) for part in first.get("loc", ()) if isinstance(part, str)]
    message = str(first.get("msg", "This request could not be understood."))
    return answer(422, "invalid", message.removeprefix("Value error, "), _field(places))


def _field(places: list[str]) -> str | None:
    """What an error is about, from where it was met: a parameter, or a field of the body with those that it is in."""
    in_body = places[:1] == ["body"] and len(places) > 2  # "body" and the argument's name come before it
    return ".".join(places[2:] if in_body else places[1:][-1:]) or None


def _refused(_request: HttpRequest, error: Any) -> HttpResponse:
    status = error.status_code
    if isinstance(error, AuthenticationError):
        response = answer(401, "unauthorized", "Show a valid token (Authorization: Bearer ...) or sign in.")
        response["WWW-Authenticate"] = "Bearer"
        return response
    return answer(status, _CODES.get(status, "refused"), str(error), getattr(error, "field", None))


def _missing(_request: HttpRequest, _error: Any) -> HttpResponse:
    return answer(404, "not_found", "There is nothing here.")
