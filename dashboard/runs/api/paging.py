"""Lists in pages: limit, cursor, and from/to where time applies."""

import base64
import binascii
import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

from ninja import Field, Schema
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from dashboard.runs.api.errors import Refusal
from ingest.queries.pages import Page, Place

T = TypeVar("T")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _storable(text: str) -> str:
    """Refuse what no stored text can hold, instead of asking Postgres for it."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("This text holds characters that no name can have.")
    return text


Text = Annotated[str, AfterValidator(_storable)]


def _moment(text: Any) -> dt.datetime:
    """A time of RFC 3339 in UTC; raises ValueError for anything else, numbers of seconds among it."""
    if not isinstance(text, str) or not _RFC_3339.fullmatch(text):
        raise ValueError("This is no time as RFC 3339 has it, such as 2026-03-01T12:00:00Z.")
    return _in_utc(dt.datetime.fromisoformat(text.upper()))


def _in_utc(moment: dt.datetime) -> dt.datetime:
    """The same time in UTC; what lies outside of the calendar there is not moved."""
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        return moment.replace(tzinfo=dt.UTC)


Moment = Annotated[dt.datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]


class Paging(Schema):
    """Which part of a list."""

    limit: int = Field(100, ge=1, le=1000, description="At most so many items.")
    cursor: Text | None = Field(None, max_length=1000, description="The `next` of the page before.")


class Period(Paging):
    """The same, within a time: RFC 3339, `from` included, `to` not."""

    begin: Moment | None = Field(None, alias="from", description="RFC 3339, with its zone; included.")
    end: Moment | None = Field(None, alias="to", description="RFC 3339, with its zone; not included.")

    @property
    def begin_ns(self) -> int | None:
        """`from` as Unix nanoseconds."""
        return _unix_ns(self.begin)

    @property
    def end_ns(self) -> int | None:
        """`to` as Unix nanoseconds."""
        return _unix_ns(self.end)


def answered(page: Page[T], shape: Callable[[T], Any]) -> dict[str, Any]:
    """A page as the answer to a request."""
    return {"items": [shape(item) for item in page.items], "next": None if page.next is None else to_cursor(page.next)}


def to_cursor(place: Place) -> str:
    """A place in a list as opaque text."""
    text = json.dumps([value.isoformat() if isinstance(value, dt.datetime) else value for value in place], default=str)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def numbers(cursor: str | None, count: int) -> Place | None:
    """The place that a cursor of so many whole numbers stands for; raises Refusal (422) for any other text."""
    values = _opened(cursor)
    if values is None:
        return None
    if len(values) != count or any(type(value) is not int or abs(value) >= 1 << 63 for value in values):
        raise _bad_cursor()
    return tuple(values)


def moment_and_id(cursor: str | None) -> tuple[dt.datetime, UUID] | None:
    """The place that a cursor of a time and an id stands for; raises Refusal (422) for any other text."""
    values = _opened(cursor)
    if values is None:
        return None
    try:
        at, key = values
        moment = dt.datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise _bad_cursor()
        return _in_utc(moment), UUID(key)
    except (ValueError, TypeError, AttributeError):
        raise _bad_cursor() from None


def _opened(cursor: str | None) -> list[Any] | None:
    if cursor is None:
        return None
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise _bad_cursor() from None
    if not isinstance(values, list):
        raise _bad_cursor()
    return values


def _bad_cursor() -> Refusal:
    return Refusal(422, "This cursor is not the `next` of a page of this list.", "cursor")


def _unix_ns(moment: dt.datetime | None) -> int | None:
    # Whatever year people write, the database's numbers hold no more than 64 bits.
    return None if moment is None else max(-(1 << 62), min((moment - _EPOCH) // _MICROSECOND * 1000, 1 << 62))
