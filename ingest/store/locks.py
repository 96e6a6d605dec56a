"""The one order in which rows are locked, and the advisory locks that stand for things without a row.

Order: key, catalogue, stream rows by id, rounds, round rows by id, worker rows by id, run rows by id. Whoever
takes two of these takes them in this order; that is why writers of many streams never deadlock.
"""

import enum
from collections.abc import Iterable
from uuid import UUID

from django.db import connection


class Lock(enum.IntEnum):
    """The first half of an advisory lock's number."""

    KEY = 72_011  # a run's key: which run a new stream belongs to
    CATALOGUE = 72_012  # a run's workers, attempts and names: their numbers
    ROUNDS = 72_013  # a run's rounds: their generations
    JUDGING = 72_014  # a run's verdicts: one judgement at a time, before any row
    INTERVALS = 72_016  # a team's, before any row: what may be defined depends on what there is
    EXPORTS = 72_061  # a team's: how many are on their way
    THRESHOLDS = 72_015  # a team's: what has changed is what differs from before


_HOLD_ALL = """
SELECT pg_advisory_xact_lock(%s, number)
FROM (SELECT DISTINCT hashtext(what) AS number FROM unnest(%s::text[]) AS what ORDER BY number) v
"""


def hold_all(lock: Lock, whats: Iterable[UUID | str]) -> None:
    """Hold the locks for all of `whats` until the transaction ends; taken in one order, whoever takes them."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLD_ALL, [int(lock), list(map(str, whats))])


def hold(lock: Lock, what: UUID | str) -> None:
    """Hold the lock for `what` until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [int(lock), str(what)])


def try_hold(lock: Lock, what: UUID | str) -> bool:
    """Hold the lock for `what` until the transaction ends, if nobody else does; returns whether it is held."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [int(lock), str(what)])
        return bool(cursor.fetchone()[0])
