"""REST under /api/v1/, for people's scripts: what is known of runs, as JSON."""

from typing import Any

from django.urls import URLPattern
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from dashboard.runs.api.access import Session, Token
from dashboard.runs.api.errors import handle_errors, only_these_methods
from dashboard.runs.api.exports import router as exports
from dashboard.runs.api.findings import router as findings
from dashboard.runs.api.intervals import router as intervals
from dashboard.runs.api.records import router as records
from dashboard.runs.api.refusals import documented
from dashboard.runs.api.rounds import router as rounds
from dashboard.runs.api.runs import router as runs
from dashboard.runs.api.thresholds import router as thresholds

__all__ = ["api"]

_DESCRIPTION = """
Runs, rounds, phases, samples, findings, intervals and thresholds of your team.

Scripts send `Authorization: Bearer TOKEN` with a token that may `read`, or `admin` for changes, made on the page
[Connect a run](/connect/); a browser in which you are signed in needs none.

[Back to the runs](/)
"""


class Rest(NinjaAPI):
    """Ninja's API whose every answer is JSON, also to a method that a path does not have."""

    @property
    def urls(self) -> tuple[list[Any], str, str]:
        """The routes, for the map of the site."""
        routes, app, namespace = super().urls
        for route in routes:
            if isinstance(route, URLPattern):
                route.callback = only_these_methods(route.callback)
        return routes, app, namespace

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """What is told of the API, refusals included."""
        return documented(super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params))


api = Rest(
    title="Roundwatch",
    version="1",
    description=_DESCRIPTION,
    urls_namespace="rest",
    auth=[Token(), Session()],
)
handle_errors(api)
for router in (runs, rounds, records, findings, intervals, thresholds, exports):
    api.add_router("", router)
