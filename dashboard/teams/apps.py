"""Teams as a Django app."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Holds users, teams, memberships and login links."""

    name = "dashboard.teams"
    label = "teams"
    default_auto_field = "django.db.models.BigAutoField"
