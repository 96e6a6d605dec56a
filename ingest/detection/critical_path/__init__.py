"""Critical path of a round: the chain of phases and gaps that decides how long it lasted."""

from ingest.detection.critical_path.graph import Graph, build
from ingest.detection.critical_path.walk import Segment, enders, walk

__all__ = ["Graph", "Segment", "build", "enders", "walk"]
