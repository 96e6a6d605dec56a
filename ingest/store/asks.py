"""What the server wishes of a training's process: kept beside its stream until the next batch's answer takes it along.

In Postgres, since a batch may come to any process, and whoever asked shall not depend on Redis. A wish is said once:
who asked sees whether stacks come, and asks again.
"""

import time
from typing import Any

from ingest.models import Stream

STACKS = "stacks"  # also the name of the event that answers
KEPT_S = 30  # later nobody waits for it any more
Ask = dict[str, Any]


def ask_for_stacks(stream_id: int, start: int) -> bool:
    """Ask for the thread stacks of the process in whose stream the phase `start` is open; False where none is.

    For people on the live page, and for detection when it finds an open phase slow.
    """
    wish = {"what": STACKS, "start": start, "until": time.time() + KEPT_S}
    there = Stream.objects.filter(
        pk=stream_id, deleted=False, ended_at__isnull=True, opens__contains=[{"start": start}]
    )
    return there.update(asked=wish) == 1


def due(stream: str, wish: Ask | None) -> list[Ask]:
    """A stream's wish as its answer says it (`wire.Answer.ask`); none where it has waited too long."""
    if wish is None or wish["until"] < time.time():
        return []
    return [{"what": wish["what"], "stream": stream, "start": wish["start"]}]
