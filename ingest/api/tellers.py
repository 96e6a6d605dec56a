"""What follows a commit, never before it: viewers are told, ended rounds closed, their judgement asked for.

All of it is a hint. What a full queue or a crash loses here, the watcher and the viewers' own comparison
find.
"""

import logging
import threading
import time
from collections import deque
from uuid import UUID

from django.db import connection

from ingest.feed.starting import start
from ingest.store import rounds
from ingest.store.news import Bulletin, News, merged
from ingest.store.tell import by_run, tell_machines, tell_run

_MOST_WAITING = 1_000
_MOST_RECORDS = 200_000  # that the news which wait tell of; told at once, they fill a frame of some 6 MB
# After telling rests for so many times as long as it took, so that on a busy server the live cadence falls first.
_REST = 2.0
# And for so long in any case: nobody's eye is quicker, and the news of a thousand senders become one message.
_LEAST_REST_S = 0.05
# How often rounds that wait only for a worker to be heard are looked at again.
_LOOK_EVERY_S = 0.2
_log = logging.getLogger(__name__)


class Tellers:
    """A queue of news and the thread that tells them."""

    def __init__(self) -> None:
        """Prepare; the thread starts with the first news."""
        self._waiting: deque[Bulletin] = deque()
        self._records = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._rested_at = 0.0
        self._unclosed: dict[UUID, float] = {}

    def tell(self, news: Bulletin) -> None:
        """Queue news; the oldest leave when too many wait."""
        with self._changed:
            self._waiting.append(news)
            self._records += news.records
            while len(self._waiting) > 1 and (len(self._waiting) > _MOST_WAITING or self._records > _MOST_RECORDS):
                self._records -= self._waiting.popleft().records
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ingest-teller", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Tell what waits, then end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while (news := self._take()) is not None:
                began = time.monotonic()
                self._tell(news)
                ended = time.monotonic()
                self._rested_at = ended + max(_REST * (ended - began), _LEAST_REST_S)
        finally:
            connection.close()

    def _take(self) -> Bulletin | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._changed.wait_for(lambda: self._closing, timeout=self._rested_at - time.monotonic())
            taken = list(self._waiting)
            self._waiting.clear()
            self._records = 0
        return merged(taken) if taken else None

    def _tell(self, bulletin: Bulletin) -> None:
        for news in bulletin.runs.values():
            try:
                closed = self._close_rounds(news)
                tell_run(news)
                for each in closed:
                    start("ingest.judge_round", str(news.run_id), each.index, each.generation)
            except Exception:  # noqa: BLE001 - the thread must outlive whatever it is given
                _log.exception("The viewers of a run could not be told; they will find out by themselves.")
                connection.close()
        try:
            for run_id, hosts in by_run(bulletin.hosts.values()).items():
                tell_machines(run_id, hosts)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("Samples of machines could not be told; viewers will find them by themselves.")
            connection.close()

    def _close_rounds(self, news: News) -> list[rounds.ClosedRound]:
        """Close what is over: at once when rounds or lives changed, else now and then while some wait."""
        since = self._unclosed.get(news.run_id)
        changed = news.rounds or news.ended or news.turned
        if not changed and (since is None or time.monotonic() - since < _LOOK_EVERY_S):
            return []
        closing = rounds.close(news.run_id)
        self._unclosed.pop(news.run_id, None)
        if closing.waiting:
            self._unclosed[news.run_id] = time.monotonic()
        news.rounds |= {closed.index for closed in closing.closed}
        return closing.closed
