"""What a person may do with an alert: acknowledge it, silence it for some hours, resolve it, open it again."""

import datetime as dt
from typing import Literal, get_args

from django.db import transaction
from django.utils import timezone

from dashboard.alerts.models import Alert, AlertState
from dashboard.teams.models import User
from ingest.models.outbox import Happened
from ingest.store import outbox

Act = Literal["acknowledge", "silence", "resolve", "reopen"]
ACTS: tuple[str, ...] = get_args(Act)
SILENT_FOR = dt.timedelta(hours=8)
_DONE = {"acknowledge": "acknowledged", "silence": "silenced", "resolve": "resolved", "reopen": "opened again"}
_STATES = {
    "acknowledge": AlertState.ACKNOWLEDGED, "silence": AlertState.SILENCED, "resolve": AlertState.RESOLVED,
    "reopen": AlertState.OPEN,
}  # fmt: skip


@transaction.atomic
def act(alert: Alert, what: str, who: User | None) -> Alert:
    """Do one of ACTS; returns the alert as it is then. Raises ValueError for anything else.

    Who resolves it by hand has those told who heard that it opened. A finding that opens again opens it again.
    """
    if what not in _STATES:
        raise ValueError(f"Not one of {', '.join(ACTS)}.")
    row = Alert.objects.select_for_update().get(pk=alert.pk)
    now = timezone.now()
    was, row.state = row.state, _STATES[what]
    row.silenced_until = now + SILENT_FOR if what == "silence" else None
    row.resolved_at = now if what == "resolve" else None
    row.changed_by, row.changed_at, row.updated_at = who, now, now
    row.save()
    if what == "resolve" and was != AlertState.RESOLVED:
        outbox.note(row.finding, Happened.RESOLVED)
    return row


def done(what: str, alert: Alert) -> str:
    """What was done, in words for the audit."""
    phase = f" in {alert.phase}" if alert.phase else ""
    return f"{_DONE[what]} the alert {alert.kind}{phase} of the run “{alert.run.name}” ({alert.pk})"
