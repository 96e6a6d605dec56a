"""Alerts as a Django app."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Holds rules, channels, alerts and every try to deliver one."""

    name = "dashboard.alerts"
    label = "alerts"
    default_auto_field = "django.db.models.BigAutoField"
