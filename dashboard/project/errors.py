"""What a request gets that no view could answer: JSON under /api/, a short page elsewhere."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader

_WORDS = {
    400: ("bad_request", "This request could not be understood."),
    403: ("forbidden", "You may not see this."),
    404: ("not_found", "There is nothing here."),
    500: ("broken", "Something broke on our side. It has been logged."),
}


def _answer(request: HttpRequest, status: int) -> HttpResponse:
    code, message = _WORDS[status]
    if request.path.startswith("/api/"):
        error = {"code": code, "message": message, "field": None}
        return JsonResponse({"error": error}, status=status)
    # Rendered without context processors: they ask the database, which may be what is broken.
    page = loader.render_to_string("error.html", {"status": status, "message": message, "request": request})
    return HttpResponse(page, status=status)


def no_such_path(request: HttpRequest) -> HttpResponse:
    """Answer any path under /api/ that no room serves."""
    return _answer(request, 404)


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
