"""What init does before the first record: checks what it was told, finds a place, and says who begins."""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from roundwatch import conditions, folders, identity, launchers, namesakes, ring, slots, stacks, wire
from roundwatch.attributes import configuration, storable
from roundwatch.folders import Destination
from roundwatch.launch import Launcher
from roundwatch.ring import Ring
from roundwatch.training_log import warn

TRIES = 3
MODES = ("online", "offline", "disabled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the caller says of the run as a whole."""

    project: str
    name: str | None
    rounds: int | None
    config: Any
    tags: Sequence[str]
    model_bytes: int | None
    flops_per_item: float | None


def begin(said: Said, who: dict[str, Any], mode: str) -> tuple[Ring, Launcher | None, str]:
    """The ring with its first record, what keeps a shipper alive, and the run's id. Raises ValueError, TypeError."""
    chosen = os.environ.get("ROUNDWATCH_MODE") or mode
    if chosen not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {chosen!r}")
    if chosen == "disabled":
        return ring.silent(), None, who["run_id"] or ""
    data = _begin_data(said)
    found = _identity(said.project, who)
    try:
        destination = _destination(chosen)
        made = _create(destination, found)
    except OSError as error:
        warn("nothing is recorded: no place for it (%s)", error)
        return ring.silent(), None, found.run
    lifecycle(made, "begin", data)
    made.answers(stacks.offer())
    if made.where:
        namesakes.look(Path(made.where), found)
    if destination.url and not found.rank:
        _say(f"recording run {found.run}: {destination.url}/?q={quote(found.run, safe='')}")
    return made, Launcher(destination), found.run


def lifecycle(into: Ring, what: str, data: dict[str, Any]) -> None:
    """Writes one turn of this attempt's life."""
    text = storable(json.dumps({"what": what, "data": data}).encode())
    into.put_text(text, slots.head(slots.LIFECYCLE), slots.NO_ROUND, -1, -1, time.monotonic_ns(), 0)


def check_url(url: str) -> str:
    """The server's address without a closing slash. Raises ValueError with what is wrong with it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable, parts = False, None
    if not usable or parts is None or parts.query or parts.fragment:
        raise ValueError(f"ROUNDWATCH_URL must look like https://host or https://host:port, not {url!r}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("ROUNDWATCH_URL must not hold a name or password; the token goes into ROUNDWATCH_TOKEN")
    return url.rstrip("/")


def check_token(token: str) -> str:
    """The token, which may be missing. Raises ValueError where it is none that a header can carry."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError("ROUNDWATCH_TOKEN holds characters that no token has; the page 'Connect a run' makes one")
    return token


def _say(what: str) -> None:
    """One line for whoever started the training; nothing here is wrong, so that it is no matter for the log."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # closed, or nobody reads it any more
            print(f"roundwatch: {what}", file=sys.stderr, flush=True)


def _destination(mode: str) -> Destination:
    spool = folders.spool(os.environ.get("ROUNDWATCH_SPOOL", ""))
    url = os.environ.get("ROUNDWATCH_URL", "") if mode == "online" else ""
    if not url:
        why = "ROUNDWATCH_URL is not set: " if mode == "online" else ""
        warn("%srecording offline to %s (`roundwatch sync` sends it)", why, spool)
        return Destination(spool)
    token = check_token(os.environ.get("ROUNDWATCH_TOKEN", ""))
    if not token:
        warn("ROUNDWATCH_TOKEN is not set: the server takes nothing without one, records wait in %s", spool)
    return Destination(spool, check_url(url), token)


def _create(destination: Destination, who: wire.Identity) -> Ring:
    text = json.dumps({"identity": asdict(who), "wall_ns": time.time_ns(), "mono_ns": time.monotonic_ns()})
    tries = 0
    while True:
        folder = _folder(destination)
        try:
            # On a disk a ring would stall under writeback.
            return ring.create(folder, os.urandom(16).hex(), text.encode(), private=folders.tmpfs() is None)
        except FileNotFoundError:  # a shipper that left has removed the empty folder meanwhile
            tries += 1
            if tries == TRIES:
                raise


def _folder(destination: Destination) -> Path:
    """Where the ring goes; the disk may take nothing now, and be open again later."""
    try:
        return destination.prepare()
    except OSError as error:
        where = f"{error.strerror or error}: {error.filename or destination.folder}"
        if error.errno not in folders.CLOSED or folders.tmpfs() is None:
            raise OSError(where) from error
        warn("the disk takes nothing (%s): records wait in memory, and are dropped when it is full", where)
        return destination.prepare_rings()


def _identity(project: str, who: dict[str, Any]) -> wire.Identity:
    _name("project", project)
    for what, value in who.items():
        if what != "rank" and value is not None:
            _name(what, value)
    if who["role"] not in wire.ROLES:
        raise ValueError(f"role must be one of {', '.join(wire.ROLES)}, not {who['role']!r}")
    _count("rank", who["rank"], wire.MAX_RANK)
    found = identity.find(**who)
    if launchers.NO_COMMON_ID in found.doubts and not found.rank:
        warn("%s", launchers.NO_COMMON_ID)
    return wire.Identity(
        project=project,
        run=found.run_id or f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}",
        run_found=found.run_found,
        worker=found.worker,
        role=found.role,
        rank=found.rank,
        local_rank=found.local_rank,
        world_size=found.world_size,
        group=found.group,
        machine=found.machine,
        host=found.host,
        site=found.site,
        pid=os.getpid(),
        began_unix_ns=time.time_ns(),
    )


def _begin_data(said: Said) -> dict[str, Any]:
    tags = [said.tags] if isinstance(said.tags, str) else list(said.tags)
    if len(tags) > wire.MAX_TAGS:
        raise ValueError(f"tags must be at most {wire.MAX_TAGS}, not {len(tags)}")
    _count("rounds", said.rounds, wire.MAX_ROUNDS)
    _count("model_bytes", said.model_bytes, wire.MAX_FIGURE)
    if said.flops_per_item is not None and not 0 <= float(said.flops_per_item) <= wire.MAX_FIGURE:
        raise ValueError(f"flops_per_item must be a number of at least 0, not {said.flops_per_item!r:.200}")
    return {
        "name": None if said.name is None else _name("name", said.name),
        "config": configuration(said.config),
        "tags": [_name("tags", tag) for tag in tags],
        "rounds": said.rounds,
        "model_bytes": said.model_bytes,
        "flops_per_item": None if said.flops_per_item is None else float(said.flops_per_item),
        "conditions": conditions.found(),
        "attempt": conditions.of_attempt(),
    }


def _name(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > wire.MAX_NAME_CHARS:
        raise ValueError(f"{what} must be a text of 1 to {wire.MAX_NAME_CHARS} characters, not {value!r:.200}")
    if fault := wire.name_fault(value):
        raise ValueError(f"{what}: {fault}: {value!r:.200}")
    return value


def _count(what: str, value: Any, most: int) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most):
        raise ValueError(f"{what} must be a whole number from 0 to {most}, not {value!r:.200}")
