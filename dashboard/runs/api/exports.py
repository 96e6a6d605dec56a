"""REST: files of a run for other programs."""

from typing import Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseBase
from ninja import Field, Query, Router, Schema, Status
from pydantic import ConfigDict

from dashboard.runs.api.access import Session, Token, run_of
from dashboard.runs.api.errors import Refusal
from dashboard.runs.api.paging import Paging, answered, moment_and_id
from dashboard.runs.api.shapes import Listed, Time, moment
from dashboard.runs.exports import sending
from dashboard.teams.models import User
from ingest.models import Export, Run
from ingest.models.exports import ExportState
from ingest.queries import exports
from ingest.store import exports as store

router = Router(tags=["exports"])


def _file_of(*media_types: str) -> dict[str, Any]:
    """What the schema says of an answer that is a file."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {"responses": {200: {"content": dict.fromkeys(media_types, binary)}}}


class Wish(Schema):
    """What to make of the run."""

    model_config = ConfigDict(extra="forbid")
    format: Literal["perfetto", "csv", "parquet"] = Field(
        "perfetto", description="A Chrome trace (JSON, gzip), or tables of phases, rounds and samples in a ZIP archive."
    )


class ExportShape(Schema):
    """A file that is made of a run, in slices; it is there once `state` is done, and kept until `expires_at`."""

    id: str
    run: str
    format: str
    state: str = Field(description="waiting, running, done or failed.")
    records: int = Field(description="Phases, rounds, events and samples that are in it so far.")
    records_total: int | None = Field(description="About how many there will be; null until it has begun.")
    bytes: int
    reason: str = Field(description="Why its last slice failed, or empty.")
    made_at: Time
    done_at: Time | None
    expires_at: Time | None


@router.get("/runs/{uuid:run_id}/exports", response=Listed[ExportShape])
def list_exports(request: HttpRequest, run_id: UUID, paging: Query[Paging]) -> dict[str, Any]:
    """The run's exports, newest first."""
    found = exports.listed(run_of(request, run_id), after=moment_and_id(paging.cursor), limit=paging.limit)
    return answered(found, _shape)


# Whoever may read all of a run may have it as a file, a token that may only read included.
@router.post(
    "/runs/{uuid:run_id}/exports", response={202: ExportShape, 409: None}, auth=[Token(changes=False), Session()]
)
def make_export(request: HttpRequest, run_id: UUID, wish: Wish) -> Status[Any]:
    """Have a file made of the run; one of this format that is being made already is answered instead of another."""
    run = run_of(request, run_id)
    person = request.user.pk if isinstance(request.user, User) else None
    try:
        return Status(202, _shape(store.ask(run, wish.format, person)))
    except store.TooManyError:
        said = f"The team has {store.MOST_WAITING} exports that are being made; wait for one of them."
        raise Refusal(409, said) from None


@router.get("/runs/{uuid:run_id}/exports/{uuid:export_id}", response=ExportShape)
def get_export(request: HttpRequest, run_id: UUID, export_id: UUID) -> dict[str, Any]:
    """One export, and how far it has come."""
    return _shape(_one(run_of(request, run_id), export_id))


@router.get(
    "/runs/{uuid:run_id}/exports/{uuid:export_id}/file",
    response={200: None}, openapi_extra=_file_of("application/gzip", "application/zip"), url_name="export_file",
)  # fmt: skip
def get_file(request: HttpRequest, run_id: UUID, export_id: UUID) -> HttpResponseBase:
    """The file of an export that is done."""
    run = run_of(request, run_id)
    export = _one(run, export_id)
    if export.state != ExportState.DONE:
        raise Refusal(404, "This export is not done.")
    try:
        return sending.file(export, run)
    except FileNotFoundError:
        raise Refusal(404, "The file of this export is no longer there.") from None


@router.get(
    "/runs/{uuid:run_id}/trace",
    response={200: None, 409: None}, openapi_extra=_file_of("application/gzip"), url_name="run_trace",
)  # fmt: skip
def get_trace(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """The run as a Chrome trace, made while it is sent; a run of more than 20,000 records is to be exported."""
    run = run_of(request, run_id)
    if not sending.is_short(run):
        raise Refusal(409, "This run has too many records to be sent at once: POST to its exports.")
    return sending.trace(run)


def _one(run: Run, export_id: UUID) -> Export:
    found = exports.one(run, export_id)
    if found is None:
        raise Http404
    return found


def _shape(row: Export) -> dict[str, Any]:
    return {
        "id": str(row.pk), "run": str(row.run_id), "format": row.format, "state": row.state, "records": row.records,
        "records_total": row.records_total, "bytes": row.file_bytes, "reason": row.reason,
        "made_at": moment(row.made_at), "done_at": row.done_at and moment(row.done_at),
        "expires_at": row.expires_at and moment(row.expires_at),
    }  # fmt: skip
