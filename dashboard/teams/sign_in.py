"""Pages for those who are signed in; others are sent to the sign-in page and come back."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django_htmx.http import HttpResponseClientRefresh

View = Callable[..., HttpResponseBase]


def signed_in(view: View) -> View:
    """Guard a page. A request that a page made by itself gets a reload, so that no sign-in form lands inside a list."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if request.headers.get("HX-Request") == "true":
            return HttpResponseClientRefresh()
        if request.method in ("GET", "HEAD"):
            return redirect_to_login(request.get_full_path())
        return redirect_to_login("/")

    return guarded
