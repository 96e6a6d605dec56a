"""The map of the site: which room answers which path."""

from django.urls import include, path, re_path

from dashboard.project import errors, health
from dashboard.project.rest import api

urlpatterns = [
    # For machines; telemetry at /api/v1/ingest never comes this far (dashboard.project.asgi)
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("api/v1/", api.urls),
    re_path(r"^api(?:/|$)", errors.no_such_path),
    # For people: signing in and teams, the live view of a run, the list of runs, alerts
    path("", include("dashboard.teams.urls")),
    path("", include("dashboard.live.urls")),
    path("", include("dashboard.runs.urls")),
    path("", include("dashboard.alerts.urls")),
]
handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.broken
