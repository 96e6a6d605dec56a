"""The nouns of Roundwatch, one file each; import them from here."""

from ingest.models.analyses import Analysis
from ingest.models.conditions import Conditions
from ingest.models.deletions import Deletion
from ingest.models.events import Event
from ingest.models.exports import Export
from ingest.models.findings import Finding
from ingest.models.intervals import Interval, IntervalsDue
from ingest.models.outbox import Outbox
from ingest.models.phases import Phase, PhaseName
from ingest.models.rounds import Round, WorkerRound
from ingest.models.run_figures import RunFigures
from ingest.models.runs import Run
from ingest.models.samples import Sample, Series
from ingest.models.settings import Setting
from ingest.models.standings import Standing, StandingDue
from ingest.models.streams import Gap, Quarantine, Stream
from ingest.models.thresholds import ThresholdChange
from ingest.models.tokens import Token
from ingest.models.workers import Worker

__all__ = [
    "Analysis",
    "Conditions",
    "Deletion",
    "Event",
    "Export",
    "Finding",
    "Gap",
    "Interval",
    "IntervalsDue",
    "Outbox",
    "Phase",
    "PhaseName",
    "Quarantine",
    "Round",
    "Run",
    "RunFigures",
    "Sample",
    "Series",
    "Setting",
    "Standing",
    "StandingDue",
    "Stream",
    "ThresholdChange",
    "Token",
    "Worker",
    "WorkerRound",
]
