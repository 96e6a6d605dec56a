"""The one order in which rows are locked, and the advisory locks that stand for things without a row.

Order: key, catalogue, stream rows by id, rounds, round rows by id, worker rows by id, run rows by id. Whoever
takes two of these takes them in this order; that is why writers of many streams never deadlock.
"""

import enum
from uuid import UUID

from django.db import connection


class Lock(enum.IntEnum):
    """The first half of an advisory lock's number."""

    KEY = 72_011  # a run's key: which run a new stream belongs to
    CATALOGUE = 72_012  # a run's workers, attempts and names: their numbers
    ROUNDS = 72_013  # a run's rounds: their generations
    JUDGING = 72_014  # a run's verdicts: one judgement at a time, before any row


def hold(lock: Lock, what: UUID | str) -> None:
    """Hold the lock for `what` until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [int(lock), str(what)])
