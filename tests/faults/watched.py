"""One training with its ledger and a viewer of its run: whether what was recorded is stored, once, and shown."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from tests.e2e.product import alive, until
from tests.faults import oracle
from tests.faults.oracle import Ledger
from tests.faults.training import Training
from tests.faults.viewer import Viewer

if TYPE_CHECKING:
    from tests.faults.stage import Stage

THREADS = 2
SORTS = ("", ".events", ".samples")
SPANS = """
SELECT s.index, p.start_number FROM ingest_phase p JOIN ingest_stream s ON s.id = p.stream_id WHERE p.run_id = %s
"""
SOON_S = 1.0  # later than this, a viewer is behind


class Watched:
    """A training that runs, or that has ended and is to be accounted for."""

    def __init__(self, stage: "Stage", name: str, *, near: bool, seed: int) -> None:
        self.stage, self.near, self.name = stage, near, name
        self.folder = stage.folder / name
        self.folder.mkdir()
        self.ledger = Ledger(self.folder / "oracle")
        self.killed = False
        self.training = Training(
            stage.product,
            self.folder,
            name,
            threads=THREADS,
            pause_s=0.04,
            everything=True,
            url="" if near else f"http://127.0.0.1:{stage.postman.port}",
            spool=stage.product.data / "spool" if near else None,
            environment=stage.host_clock.environment,
        )
        self.run = until(60, self._id, f"the run {name} is known")
        self.viewer = Viewer(stage.product.ready["url"], stage.cookie, self.run, seed=seed)

    def _id(self) -> str:
        try:
            rows = self.stage.database.rows("SELECT id FROM ingest_run WHERE key = %s", self.name)
        except psycopg.OperationalError:
            return ""
        return str(rows[0][0]) if rows else ""

    # --- what must hold --------------------------------------------------------------------------------------------

    def returned(self) -> dict[str, oracle.Numbers]:
        """The calls that have returned by now, by sort and thread."""
        return {sort: self.ledger.returned(sort) for sort in SORTS}

    def await_stored(self, returned: dict[str, oracle.Numbers], within_s: float) -> None:
        """Returns once all those calls are stored; AssertionError where that takes too long."""
        left = dict(returned)
        deadline = time.monotonic() + within_s
        while left:
            sort, calls = next(iter(left.items()))
            try:
                missing = oracle.unseen(self.stage.database, self.run, sort, calls)
            except psycopg.OperationalError as error:
                missing = -1
                trouble = str(error)
            else:
                trouble = f"{missing} of the calls that had returned ({sort or 'phases'})"
            if missing == 0:
                del left[sort]
                continue
            assert time.monotonic() < deadline, f"{self.name}: not stored within {within_s} s: {trouble}"
            time.sleep(0.1)

    def stored_spans(self) -> set[tuple[int, int]]:
        return {(attempt, start) for attempt, start in self.stage.database.rows(SPANS, self.run)}

    def await_shown(self, within_s: float) -> float:
        """When the viewer was first as current as it is at other times: all that was stored then, a moment later.

        AssertionError where that takes too long, or where it shows what is not stored.
        """
        deadline = time.monotonic() + within_s
        while True:
            try:
                stored = self.stored_spans()
            except psycopg.OperationalError:
                time.sleep(0.1)
                continue
            asked = time.monotonic()
            while (missing := stored - self.viewer.spans()) and time.monotonic() < asked + SOON_S:
                time.sleep(0.02)
            if not missing:
                return time.monotonic()
            assert time.monotonic() < deadline, (
                f"{self.name}: not shown within {within_s} s: {len(missing)} of {len(stored)} stored phases; "
                f"{self.viewer.connects} connections, {self.viewer.troubles}"
            )

    def assert_nothing_invented(self) -> None:
        """No record stands there twice, and the viewer shows nothing that is not stored."""
        shown = self.viewer.spans()
        invented = shown - self.stored_spans()
        assert not invented, f"{self.name}: shown and not stored: {sorted(invented)[:5]}"
        broken = oracle.doubled(self.stage.database, self.run)
        assert not broken, "; ".join(broken)

    def assert_conserved(self) -> None:
        """Of a training that has ended: produced = stored + counted gaps + quarantined, row by row."""
        database, rounds = self.stage.database, self.ledger.rounds()
        # What arrived so far adds up also before the last of it has arrived.
        self._assert_ended()
        oracle.await_none(lambda: oracle.conserved(database, "s.run_id = %s", self.run), 60)
        oracle.await_none(lambda: oracle.explained(database, self.run, rounds), 60)
        for sort, calls in self.returned().items():
            for thread, (count, _) in oracle.stored(self.stage.database, self.run, sort).items():
                surplus = count - calls.get(thread, 0)
                assert 0 <= surplus <= 1, f"{self.name}: {surplus} more {sort or 'phases'} of thread {thread} stored"

    def assert_pictured(self) -> None:
        """Of a training that has ended: the viewer shows its rounds, samples and state as they are stored."""
        oracle.await_none(lambda: self.viewer.differences(self.stage.database), 45)

    def _assert_ended(self) -> None:
        """What was open when a killed training died is said to be aborted, and the run to be lost."""
        aborted = self.stage.database.one(
            "SELECT count(*) FROM ingest_phase WHERE run_id = %s AND state <> 0", self.run
        )
        assert aborted <= THREADS, f"{self.name}: {aborted} phases did not end well"
        question = "SELECT state FROM ingest_run WHERE id = %s"
        state = "lost" if self.killed else "killed"
        until(30, lambda: self.stage.database.one(question, self.run) == state, f"the run {self.name} is {state}")

    # --- rounds ------------------------------------------------------------------------------------------------------

    def newest_round(self) -> int:
        found = self.stage.database.one("SELECT coalesce(max(index), -1) FROM ingest_round WHERE run_id = %s", self.run)
        return int(found)

    def await_judged_beyond(self, index: int, within_s: float = 60) -> float:
        """When a later round than that has been judged."""
        question = (
            "SELECT count(*) FROM ingest_round WHERE run_id = %s AND index > %s AND closed AND verdict_version >= 0"
        )

        def look() -> bool:
            return int(self.stage.database.one(question, self.run, index)) > 0

        return self._await_true(look, within_s, "judged")

    def await_all_judged(self, index: int, within_s: float = 60) -> float:
        """When all rounds up to that one have been judged as they are."""
        question = """SELECT array_agg((index, generation, closed, data_version, verdict_version, tries)::text)
            FROM ingest_round WHERE run_id = %s AND index <= %s AND (NOT closed OR verdict_version <> data_version)"""
        left: list[str] = []

        def look() -> bool:
            left[:] = self.stage.database.one(question, self.run, index) or []
            return not left

        try:
            return self._await_true(look, within_s, "all judged")
        except AssertionError as error:
            raise AssertionError(f"{error}: (index, generation, closed, data, verdict, tries) {left}") from None

    def _await_true(self, look: Callable[[], bool], within_s: float, what: str) -> float:
        deadline = time.monotonic() + within_s
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                if look():
                    return time.monotonic()
            assert time.monotonic() < deadline, f"{self.name}: rounds are not {what} within {within_s} s"
            time.sleep(0.05)

    # --- its end -----------------------------------------------------------------------------------------------------

    def end(self, *, kill: bool) -> None:
        """Ends the training: SIGKILL, or SIGTERM, after which it says so itself."""
        self.killed |= kill
        self.training.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        self.training.process.wait(15)

    def close(self) -> None:
        self.viewer.close()
        self.training.process.kill()
        self.training.process.wait(5)
        for pid in [] if self.near else self.training.shippers():
            if alive(pid):
                os.kill(pid, signal.SIGKILL)

    @property
    def log(self) -> list[Path]:
        """The logs of its shippers."""
        return sorted(self.training.spool.glob("*/shipper.log"))
