"""Thresholds that a team or a run may set otherwise: which there are, and the policies that follow from what is set."""

from ingest.detection.thresholds.catalogue import BY_KEY, SUBJECTS
from ingest.detection.thresholds.policies import DEFAULT, Source, Thresholds, of
from ingest.detection.thresholds.threshold import Subject, Threshold

__all__ = ["BY_KEY", "DEFAULT", "SUBJECTS", "Source", "Subject", "Threshold", "Thresholds", "of"]
