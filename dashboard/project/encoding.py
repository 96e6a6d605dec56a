"""Forms are UTF-8, whatever a request says: Python knows encodings that decode no text, and Django tries them."""

from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from dashboard.project.csp import Answer


@sync_and_async_middleware
def utf_8(get_response: Answer) -> Answer:
    """Read every request as UTF-8."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            return cast(HttpResponseBase, await get_response(_read_as_utf_8(request)))

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        return cast(HttpResponseBase, get_response(_read_as_utf_8(request)))

    return answer


def _read_as_utf_8(request: HttpRequest) -> HttpRequest:
    if request.encoding is not None:
        request.encoding = "utf-8"
    return request
