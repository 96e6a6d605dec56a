"""The message of a slow phase arrives while the phase still runs, through a real watcher, worker and receiver."""

import json
import subprocess
from collections.abc import Callable

import pytest
from django.db import connection

from ingest import watch
from ingest.models import Finding
from tests.cast import Cast, make_cast
from tests.dashboard.alerts.receivers import Receiver
from tests.dashboard.alerts.telling import hook
from tests.dashboard.alerts.told_in_time import SLOW_WORKERS, told_while_slow
from tests.ingest.playing import eventually

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def cast(quiet: None) -> Cast:
    return make_cast()


def leads() -> bool:
    """Whether a watcher looks at open phases."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s", [watch.OPEN_LOCK])
        return bool(cursor.fetchone()[0])


def test_people_are_told_of_a_slow_phase_before_it_ends(
    cast: Cast, receiver: Receiver, process: Start, worker: Callable[[], object]
) -> None:
    process("manage.py", "watch")
    worker()
    hook(cast.team, receiver.url)
    eventually(leads, within_s=60)

    told = told_while_slow(cast.team)

    assert told.limit_at <= told.left_at <= told.arrived_at < told.ends_at
    # By the rule alone, whatever this machine does: the limit lies more than ten seconds before the end.
    assert (told.ends_at - told.limit_at).total_seconds() > 10
    (message,) = [json.loads(body) for _, body in receiver.got]
    assert (message["happened"], message["over"], message["workers"]) == ("opened", False, SLOW_WORKERS)
    assert Finding.objects.get(pk=told.finding.pk).state == "open"
    print(f"the message left {told.delay_s:.2f} s after the limit, and arrived {told.ahead_s:.1f} s before the end")
