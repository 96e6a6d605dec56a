"""The live view as a Django app; it has no tables."""

from django.apps import AppConfig


class LiveConfig(AppConfig):
    """Holds the live page, its templates and its static files."""

    name = "dashboard.live"
    label = "live"
