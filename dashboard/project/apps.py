"""The project as a Django app: it brings the commands that run the house, and its start-up checks."""

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """Holds `up`, `login_url` and the system checks; it has no tables."""

    name = "dashboard.project"
    label = "project"

    def ready(self) -> None:
        """Register the checks, and make our Celery application the one that tasks are sent through."""
        from dashboard.project import celery, checks  # noqa: F401, PLC0415 - register on import, need loaded apps
