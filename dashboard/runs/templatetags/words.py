"""The words of dashboard.runs.words as template filters."""

from datetime import datetime

from django import template
from django.utils import timezone

from dashboard.runs import notes, words
from ingest.detection.thresholds import Threshold
from ingest.detection.wording import Words

register = template.Library()
register.filter("seconds", words.seconds)
register.filter("percent", words.percent)
register.filter("figure", words.figure)
register.filter("gpus", words.gpus)
register.filter("markdown", notes.rendered)


@register.filter
def ago(then: datetime) -> str:
    """How long ago, as of now."""
    return words.ago(then, timezone.now())


@register.filter
def lasted(begin: datetime, end: datetime | None) -> str:
    """How long from `begin` to `end`, to now while there is no end."""
    return words.duration((end or timezone.now()) - begin)


@register.filter
def said(text: str, named: Words | None) -> str:
    """A text of ours about rounds and workers as the run has them; of no run (None), as they are called usually."""
    return named.said(text) if named else text


@register.filter
def valued(threshold: Threshold, value: float) -> str:
    """A value of a threshold with its unit."""
    return threshold.words(value)
