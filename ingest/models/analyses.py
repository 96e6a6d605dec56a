"""Analyses: what kept one round's GPUs waiting, its critical path, what-ifs and intervals."""

from django.db import models


class Analysis(models.Model):
    """Of one generation of a round, from its data of `version`; `content` is as detection.round_analysis tells it.

    A table of its own: some kilobytes that are read for one round, and rounds are read by the hundred.
    """

    round = models.OneToOneField("ingest.Round", models.CASCADE, primary_key=True, related_name="analysis")
    version = models.BigIntegerField()
    content = models.JSONField()
