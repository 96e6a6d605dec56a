"""Partitions: made ahead and on demand, from several sides at once, and dropped when they are old."""

import datetime as dt
import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from ingest import partitions

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = dt.date(2021, 3, 4)


@pytest.fixture(autouse=True)
def no_old_partitions() -> Iterator[None]:
    """Leave no partition of the past behind."""
    yield
    for table in partitions.TABLES:
        partitions.drop_before(table, dt.date(2024, 1, 1))


def test_the_migration_made_the_partitions_of_today_and_the_next_days() -> None:
    today = dt.datetime.now(dt.UTC).date()
    for table in partitions.TABLES:
        assert len([day for day in partitions.existing(table) if day >= today]) >= partitions.DAYS_AHEAD


def test_making_a_partition_twice_and_from_many_threads_makes_it_once() -> None:
    failures: list[Exception] = []

    def make() -> None:
        try:
            partitions.ensure(LONG_AGO, days_ahead=1)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert partitions.existing("ingest_phase")[:2] == [LONG_AGO, LONG_AGO + dt.timedelta(days=1)]


def test_old_partitions_are_dropped_and_younger_ones_stay() -> None:
    partitions.ensure(LONG_AGO, days_ahead=2)
    cut = LONG_AGO + dt.timedelta(days=2)
    assert partitions.drop_before("ingest_event", cut) == [LONG_AGO, LONG_AGO + dt.timedelta(days=1)]
    assert partitions.existing("ingest_event")[0] == cut
    assert partitions.existing("ingest_phase")[0] == LONG_AGO


def test_what_a_crash_left_between_detaching_and_dropping_is_dropped_later() -> None:
    partitions.ensure(LONG_AGO, days_ahead=0)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ingest_sample DETACH PARTITION ingest_sample_20210304")
    partitions.drop_before("ingest_sample", dt.date(2022, 1, 1))
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('ingest_sample_20210304')")
        assert cursor.fetchone() == (None,)


def test_a_partition_dropped_behind_our_back_is_made_again_on_demand() -> None:
    partitions.ready(LONG_AGO)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE ingest_phase_20210304")
    partitions.forget()
    partitions.ready(LONG_AGO)
    assert LONG_AGO in partitions.existing("ingest_phase")
