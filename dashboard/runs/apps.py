"""Runs as a Django app."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The list of runs and the page that connects one."""

    name = "dashboard.runs"
    label = "runs"
