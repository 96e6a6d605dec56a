"""Runs as a Django app; its tables are what people keep of the list."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The list of runs and the page that connects one."""

    name = "dashboard.runs"
    label = "runs"
