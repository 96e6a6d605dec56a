"""Columns written as array literals arrive in Postgres as what they were."""

import datetime as dt

import pytest
from django.db import connection

from ingest.store import arrays

HOSTILE = [
    "",
    "NULL",
    "null",
    " ",
    "a b",
    '"',
    "\\",
    '\\"',
    "{}",
    "{[0,3),[5,9)}",
    "a,b",
    "%s",
    "'",
    "\n",
    "é\u202e",
    "🙂",
]


def read(kind: str, literal: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{kind}[]", [literal])
        return cursor.fetchone()[0]


@pytest.mark.django_db
def test_texts_arrive_as_they_are_whatever_is_in_them() -> None:
    assert read("text", arrays.texts(HOSTILE)) == HOSTILE


@pytest.mark.django_db
def test_numbers_truths_and_times_arrive_exactly_and_nothing_stays_nothing() -> None:
    at = dt.datetime(2026, 3, 29, 1, 59, 59, 999_999, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
    assert read("bigint", arrays.numbers([0, -1, None, 2**63 - 1, -(2**63)])) == [0, -1, None, 2**63 - 1, -(2**63)]
    assert read("bool", arrays.truths([True, False])) == [True, False]
    assert read("timestamptz", arrays.times([at, None])) == [at, None]
    assert [read("text", write([])) for write in (arrays.numbers, arrays.truths, arrays.times, arrays.texts)] == [
        []
    ] * 4
