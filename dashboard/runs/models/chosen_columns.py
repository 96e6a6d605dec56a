"""Columns of the list of runs that a person chose."""

from django.conf import settings
from django.db import models


class ChosenColumns(models.Model):
    """`names` are keys of dashboard.runs.columns; one that is no longer there is passed over."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="chosen_columns"
    )
    names = models.JSONField(default=list)
