"""A round in which two of sixteen encode slowly, played as it happens, until people have been told of it."""

import datetime as dt
import time
from dataclasses import dataclass

from dashboard.alerts.models import Try
from dashboard.teams.models import Team
from ingest.models import Finding
from tests.ingest import scenarios
from tests.ingest.playing import Playing, playing

SIXTEEN = scenarios.two_slow_encoders(4)
SLOW_WORKERS = ["rank-6", "rank-7"]
ENCODES_AT = SIXTEEN.rounds[-1][0] + 30.0
_HEARTBEAT_S = 0.2  # as agents of a live run send


@dataclass(frozen=True)
class Told:
    """When the limit was reached, the try that arrived was begun and had ended, and the first slow phase ends."""

    finding: Finding
    limit_at: dt.datetime
    left_at: dt.datetime
    arrived_at: dt.datetime
    ends_at: dt.datetime

    @property
    def delay_s(self) -> float:
        """From the limit to the message's leaving."""
        return (self.left_at - self.limit_at).total_seconds()

    @property
    def ahead_s(self) -> float:
        """From the message's arrival to the end of the phase."""
        return (self.ends_at - self.arrived_at).total_seconds()


def told_while_slow(team: Team, key: str = "run-1") -> Told:
    """Play the round until its message has arrived, or the first slow phase is over: then AssertionError.

    A watcher and a Celery worker must run, and the team have a channel. That the phases end is never told.
    """
    play = playing(team, SIXTEEN, at_s=ENCODES_AT + 2.4, key=key)
    end_s = min(did.end_s for did in SIXTEEN.phases if (did.name, did.worker, did.round) == ("encode", "rank-6", 3))
    while (at_s := _now_s(play)) < end_s:
        play.upto(at_s)
        arrived = Try.objects.filter(delivery__alert__run=play.story.run, delivered=True, ended_at__isnull=False)
        if (sent := arrived.select_related("delivery__alert__finding").first()) and sent.ended_at:
            assert sent.delivery.alert
            finding = sent.delivery.alert.finding
            ends_at = dt.datetime.fromtimestamp(play.story.at(end_s) / 1e9, dt.UTC)
            return Told(finding, finding.opened_at, sent.begun_at, sent.ended_at, ends_at)
        time.sleep(_HEARTBEAT_S)
    raise AssertionError("nobody was told before the phase ended")


def _now_s(play: Playing) -> float:
    return (time.time_ns() - play.story.begin_ns) / 1e9
