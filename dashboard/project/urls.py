"""The map of the site: which room answers which path."""

from importlib.util import find_spec

from django.urls import include, path, re_path

from dashboard.project import errors, health


def _room(prefix: str, module: str):
    try:
        return [path(prefix, include(module))] if find_spec(module) else []
    except ModuleNotFoundError:
        return []


def _rest():
    try:
        from dashboard.runs.api import api
    except ModuleNotFoundError:
        return []
    return [path("api/v1/", api.urls)]


urlpatterns = [
    # For machines
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    *_rest(),
    re_path(r"^api/", errors.no_such_path),
    # For people
    *_room("", "dashboard.teams.urls"),
    *_room("", "dashboard.live.urls"),
    *_room("", "dashboard.runs.urls"),
]
handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.broken
