"""A batch's way to the server's clock, where that clock has been set back since the shipper last heard of it."""

from ingest.api.examination import AHEAD_NS
from roundwatch import wire


def set_right(request: wire.Request, batch: wire.Batch, arrived_ns: int) -> None:
    """Give the batch an offset by which it was sent when it arrived, should its own say that it is yet to be sent.

    Only then would records that are sound be refused as out of time. Nothing bounds the error of what is left, until
    the shipper has learned the clock anew, from the answer. Known for streams of the boot that sends them.
    """
    if not request.wall_ns or batch.identity.machine != request.machine:
        return
    if request.t1_ns + batch.offset_ns > arrived_ns + AHEAD_NS:
        batch.offset_ns, batch.error_ns = arrived_ns - request.t1_ns, None
