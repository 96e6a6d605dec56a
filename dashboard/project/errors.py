"""What a request gets that no view could answer: JSON under /api, a short page elsewhere."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.csrf import csrf_failure
from django.views.decorators.csrf import csrf_exempt

_WORDS = {
    400: ("bad_request", "This request could not be understood."),
    403: ("forbidden", "You may not see this."),
    404: ("not_found", "There is nothing here."),
    500: ("broken", "Something broke on our side. It has been logged."),
}


def for_programs(path: str) -> bool:
    """Whether a path is answered with JSON, whatever happens."""
    return path == "/api" or path.startswith("/api/")


def _answer(request: HttpRequest, status: int, message: str = "") -> HttpResponse:
    code, usual = _WORDS[status]
    message = message or usual
    if for_programs(request.path):
        error = {"code": code, "message": message, "field": None}
        return JsonResponse({"error": error}, status=status)
    # Rendered without context processors: they ask the database, which may be what is broken.
    page = loader.render_to_string("error.html", {"status": status, "message": message, "request": request})
    return HttpResponse(page, status=status)


@csrf_exempt
def no_such_path(request: HttpRequest) -> HttpResponse:
    """Answer any path under /api that no room serves, whatever the method."""
    return _answer(request, 404)


def no_csrf_token(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form that was not ours, or is too old."""
    if for_programs(request.path):
        return _answer(request, 403, "Show the session's CSRF token, or a bearer token.")
    return csrf_failure(request, reason)  # our 403_csrf.html


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400."""
    return _answer(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    return _answer(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404, the same whether a thing is another team's or was never there."""
    return _answer(request, 404)


def broken(request: HttpRequest, *_: Any) -> HttpResponse:
    """Answer 500."""
    return _answer(request, 500)
