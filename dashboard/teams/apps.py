"""Teams as a Django app."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Holds users, teams, memberships, invitations, login links and the audit."""

    name = "dashboard.teams"
    label = "teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have it written down what people do to their accounts."""
        from dashboard.teams import account_audit  # noqa: F401, PLC0415 - registers on import, needs loaded apps
