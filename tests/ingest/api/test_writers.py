"""Requests that wait together are written together, and one that cannot be written fails alone."""

import gzip
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection

from ingest.api import waiting, writers
from ingest.api.decode import job
from ingest.api.outage import Outage
from ingest.api.tellers import Tellers
from ingest.api.waiting import Ticket
from ingest.api.writers import Writers
from ingest.models import Run
from ingest.store import telemetry
from ingest.store.arrivals import Job
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.api.hostile import with_more
from tests.ingest.batches import SECOND, Recorder, request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests went into each transaction."""
    sizes: list[int] = []
    write = telemetry.write

    def counted(jobs: list[Job]) -> telemetry.Written:
        sizes.append(len(jobs))
        return write(jobs)

    monkeypatch.setattr(telemetry, "write", counted)
    return sizes


def ticket(team_id: uuid.UUID, run: str) -> Ticket:
    """A request of one new run."""
    recorder = Recorder(run=run, began_ns=time.time_ns()).begin()
    return Ticket(team_id, wire.encode(request(recorder.batch())), "gzip", time.time_ns())


def written(tickets: list[Ticket]) -> list[int]:
    """Write the tickets as one writer finds them waiting; returns the statuses, 200 for stored."""
    tellers = Tellers()
    opened = Writers(tellers, Outage(), threads=0)
    for each in tickets:
        opened.put(each)
    opened.start(1)
    outcomes = [each.outcome.result(timeout=20) for each in tickets]
    opened.close()
    tellers.close()
    return [outcome.fault.status if outcome.fault else 200 for outcome in outcomes]


@contextmanager
def runs_refused(condition: str, after_s: float = 0.0) -> Iterator[None]:
    """Within it Postgres refuses new runs with a condition of its own, after so many seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger AS"
            f" $$ BEGIN PERFORM pg_sleep({after_s}); RAISE {condition}; END $$ LANGUAGE plpgsql"
        )
        cursor.execute("CREATE TRIGGER refused BEFORE INSERT ON ingest_run FOR EACH ROW EXECUTE FUNCTION refuse()")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse CASCADE")


def test_requests_that_wait_go_into_one_transaction(cast: Cast, transactions: list[int]) -> None:
    assert written([ticket(cast.team.id, f"run-{place}") for place in range(10)]) == [200] * 10
    assert transactions == [10]
    assert Run.objects.count() == 10


def test_one_that_the_database_refuses_does_not_fail_those_beside_it(cast: Cast, transactions: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ingest_run ADD CONSTRAINT no_poison CHECK (key <> 'poison')")
    try:
        statuses = written([ticket(cast.team.id, key) for key in ("a", "poison", "b")])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE ingest_run DROP CONSTRAINT no_poison")
    assert statuses == [200, 422, 200]
    assert transactions == [3, 1, 1, 1]
    assert set(Run.objects.values_list("key", flat=True)) == {"a", "b"}


def test_one_that_the_database_refuses_is_tried_once_where_it_is_alone_and_all_it_took_is_owed(
    cast: Cast, transactions: list[int]
) -> None:
    began = time.monotonic()
    with runs_refused("check_violation", after_s=0.2):
        assert written([poison := ticket(cast.team.id, "poison")]) == [422]
    assert transactions == [1]
    assert 0.2 <= poison.wasted_s <= time.monotonic() - began


def test_one_that_begins_too_many_runs_does_not_fail_those_beside_it(cast: Cast, transactions: list[int]) -> None:
    beats = [Recorder(run=f"flood-{place}", began_ns=time.time_ns()).batch() for place in range(65)]
    flood = Ticket(cast.team.id, wire.encode(request(*beats)), "gzip", time.time_ns())
    assert written([ticket(cast.team.id, "a"), flood, ticket(cast.other_team.id, "b")]) == [200, 413, 200]
    assert transactions == [3, 1, 1, 1]
    assert set(Run.objects.values_list("key", flat=True)) == {"a", "b"}


def test_one_that_cannot_be_read_does_not_fail_those_beside_it(cast: Cast, transactions: list[int]) -> None:
    broken = Ticket(cast.team.id, b"no gzip", "gzip", time.time_ns())
    assert written([ticket(cast.team.id, "a"), broken, ticket(cast.team.id, "b")]) == [200, 422, 200]
    assert transactions == [2]


def test_what_fails_by_a_fault_of_ours_is_to_be_sent_again_and_is_not_owed(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, transactions: list[int]
) -> None:
    def short_of_memory(team_id: uuid.UUID, body: bytes, *others: Any) -> Job:
        if b"dear" in gzip.decompress(body):
            raise MemoryError
        return job(team_id, body, *others)

    monkeypatch.setattr(writers, "job", short_of_memory)
    dear = ticket(cast.team.id, "dear")
    assert written([ticket(cast.team.id, "a"), dear, ticket(cast.team.id, "b")]) == [200, 503, 200]
    assert transactions == [2]
    assert dear.wasted_s == 0


def test_a_database_that_may_only_be_read_refuses_nothing_for_good(cast: Cast) -> None:
    with runs_refused("read_only_sql_transaction"):
        assert written([ticket(cast.team.id, "a"), ticket(cast.team.id, "b")]) == [503, 503]
    assert written([ticket(cast.team.id, "a")]) == [200]


def test_one_whose_sender_left_is_not_written(cast: Cast, transactions: list[int]) -> None:
    left = ticket(cast.team.id, "left")
    left.outcome.cancel()
    tellers = Tellers()
    opened = Writers(tellers, Outage(), threads=0)
    opened.put(left)
    opened.put(kept := ticket(cast.team.id, "kept"))
    opened.start(1)
    assert kept.outcome.result(timeout=20).fault is None
    opened.close()
    tellers.close()
    assert Run.objects.get().key == "kept"


def test_one_team_leaves_a_writer_to_the_others(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    write, let_go, begun = telemetry.write, threading.Event(), threading.Semaphore(0)

    def held_up(jobs: list[Job]) -> telemetry.Written:
        if jobs[0].team_id == cast.team.id:
            begun.release()
            assert let_go.wait(timeout=20)
        return write(jobs)

    monkeypatch.setattr(telemetry, "write", held_up)
    tellers = Tellers()
    opened = Writers(tellers, Outage(), threads=3)
    greedy = [ticket(cast.team.id, f"run-{place}") for place in range(6)]
    for each in greedy[:2]:
        opened.put(each)
        assert begun.acquire(timeout=20)
    for each in greedy[2:]:
        opened.put(each)
    opened.put(patient := ticket(cast.other_team.id, "run"))
    try:
        assert patient.outcome.result(timeout=20).fault is None
        assert not any(each.outcome.done() for each in greedy)
    finally:
        let_go.set()
        opened.close()
        tellers.close()
    assert all(each.outcome.result(timeout=0).fault is None for each in greedy)


def test_beside_others_a_second_transaction_of_a_team_begins_once_a_whole_one_waits(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, let_go, begun = telemetry.write, threading.Event(), threading.Semaphore(0)

    def held_up(jobs: list[Job]) -> telemetry.Written:
        if jobs[0].team_id == cast.team.id:
            begun.release()
            assert let_go.wait(timeout=20)
        return write(jobs)

    monkeypatch.setattr(telemetry, "write", held_up)
    monkeypatch.setattr(waiting, "_MAX_TOGETHER", 4)
    tellers = Tellers()
    opened = Writers(tellers, Outage())

    def beside() -> None:
        opened.put(patient := ticket(cast.other_team.id, "run"))
        assert patient.outcome.result(timeout=20).fault is None

    beside()
    opened.put(first := ticket(cast.team.id, "first"))
    assert begun.acquire(timeout=20)
    others = [ticket(cast.team.id, f"run-{place}") for place in range(4)]
    try:
        for each in others[:-1]:
            opened.put(each)
            beside()
        assert not begun.acquire(blocking=False)
        opened.put(others[-1])
        assert begun.acquire(timeout=20)
    finally:
        let_go.set()
        opened.close()
        tellers.close()
    assert all(each.outcome.result(timeout=0).fault is None for each in (first, *others))


def test_closing_writes_what_waits_and_leaves_no_thread(cast: Cast) -> None:
    before = set(threading.enumerate())
    tellers = Tellers()
    opened = Writers(tellers, Outage())
    tickets = [ticket(cast.team.id, f"run-{place}") for place in range(5)]
    for each in tickets:
        opened.put(each)
    opened.close()
    tellers.close()
    assert all(each.outcome.done() for each in tickets)
    assert Run.objects.count() == 5
    assert set(threading.enumerate()) <= before


def test_a_database_that_does_not_answer_says_503_to_all_and_is_not_asked_for_each(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def down(jobs: list[Job]) -> telemetry.Written:
        asked.append(len(jobs))
        raise OperationalError("the server closed the connection")

    tickets = [ticket(cast.team.id, f"run-{place}") for place in range(5)]
    monkeypatch.setattr(telemetry, "write", down)
    assert written(tickets) == [503] * 5
    assert asked == [5, 1]
    asked.clear()
    assert written([ticket(cast.team.id, "run")]) == [503]
    assert asked == [1, 1]


def test_reading_in_vain_is_owed_and_reading_records_is_not(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for what, seconds in {"_FREE_S": 0.0, "_BATCH_S": 0.0, "_RECORD_S": 1.0}.items():
        monkeypatch.setattr(writers, what, seconds)
    begin = time.time_ns() - SECOND
    full, beat = Recorder(run="full", began_ns=begin), Recorder(run="beat", began_ns=begin).batch()
    for place in range(20):
        full.phase("train", begin, begin + place, round=place)
    honest = Ticket(cast.team.id, wire.encode(request(full.batch())), "gzip", time.time_ns())
    padded = Ticket(cast.team.id, with_more(beat, '"attrs":[{"a":[1,2,3]}]'), "", time.time_ns())
    broken = Ticket(cast.team.id, b"no gzip", "gzip", time.time_ns())
    assert written([honest, padded, broken]) == [200, 200, 422]
    assert honest.wasted_s == 0.0
    assert 0.0 < padded.wasted_s <= padded.spent_s
    assert 0.0 < broken.wasted_s == broken.spent_s
