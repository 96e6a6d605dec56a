"""Checks of a batch's identity: without a sound one its records belong nowhere, so a fault refuses the batch."""

import datetime as dt
import string
from uuid import UUID

from ingest.api.columns import LIMIT
from ingest.store.arrivals import Fault, Who
from roundwatch import wire

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_INT32 = 1 << 31
_MAX_ROLE_CHARS = 16
_UID_DIGITS = 32
# What a slow network alone explains: below it a host's clock is taken to be right.
_LEAST_SHIFT_NS = 1_000_000_000


def stream_uid(text: str) -> UUID:
    """A stream's identifier; raises Fault 422 for anything but 32 hexadecimal digits."""
    if len(text) != _UID_DIGITS or not set(text) <= set(string.hexdigits):
        raise Fault(422, "stream", "A stream is named by 32 hexadecimal digits.", "stream")
    return UUID(hex=text)


def wall_shift(request: wire.Request, batch: wire.Batch, arrived_ns: int) -> int:
    """Nanoseconds to add to the wall times of the batch's host to have them on the server's clock.

    Known while the batch comes from the boot that sends it; an older boot's clock was another one: 0.
    """
    if not request.wall_ns or batch.identity.machine != request.machine:
        return 0
    shift = arrived_ns - request.wall_ns
    return shift if abs(shift) >= _LEAST_SHIFT_NS else 0


def who(identity: wire.Identity, shift_ns: int = 0) -> Who:
    """Whose stream it is, its begin moved by `shift_ns`.

    Raises Fault 422 naming the field for names that cannot be kept and numbers out of range.
    """
    host_stream = identity.kind == "host"
    if not host_stream and identity.kind != "worker":
        raise Fault(422, "identity", "kind is worker or host.", "identity.kind")
    required = ["machine"] if host_stream else ["project", "run", "worker", "role"]
    optional = ["host", "site", "group"] if host_stream else ["machine", "host", "site", "group"]
    for name in required + [name for name in optional if getattr(identity, name)]:
        fault = wire.name_fault(getattr(identity, name), _MAX_ROLE_CHARS if name == "role" else wire.MAX_NAME_CHARS)
        if fault:
            raise Fault(422, "identity", fault, f"identity.{name}")
    for name in ("rank", "local_rank", "world_size"):
        value = getattr(identity, name)
        if value is not None and not -_INT32 <= value < _INT32:
            raise Fault(422, "identity", f"{name} is out of range.", f"identity.{name}")
    return Who(
        host_stream=host_stream,
        project="" if host_stream else identity.project,
        run="" if host_stream else identity.run,
        run_found=identity.run_found,
        worker="" if host_stream else identity.worker,
        role=wire.cleaned(identity.role, _MAX_ROLE_CHARS),
        rank=identity.rank,
        local_rank=identity.local_rank,
        world_size=identity.world_size,
        group=identity.group or None,
        machine=identity.machine,
        host=identity.host,
        site=identity.site or None,
        pid=identity.pid if abs(identity.pid) < LIMIT else 0,
        began_at=_moment(identity.began_unix_ns + shift_ns),
    )


def _moment(unix_ns: int) -> dt.datetime:
    """A wall time, to the microsecond; a clock far off its mark is brought to where Postgres and people can follow."""
    return _EPOCH + dt.timedelta(microseconds=min(max(unix_ns, 0), LIMIT) // 1000)
