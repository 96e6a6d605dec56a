"""What travels between agent and server: schema version, limits, vocabulary and shapes, with units.

A request is gzip-compressed JSON of `Request`; its answer is JSON of `Answer`. Records travel as columns: index i of
every list of one `...Columns` object is one record. Columns marked *delta* hold the first value, then differences to
the value before. Times are integer nanoseconds on the stream's own clock unless said otherwise; the server adds the
batch's `offset_ns` to map them to its own clock. Indices into `names` and `attrs` are -1 where there is none.
"""

import json
import zlib
from dataclasses import dataclass, field
from operator import attrgetter, sub
from typing import Any

VERSION = 1
PATH = "/api/v1/ingest"

MAX_COMPRESSED_BYTES = 1 << 20
MAX_BODY_BYTES = 8 << 20
MAX_RECORDS = 20_000
MAX_NAME_CHARS = 128
MAX_TAGS = 100
MAX_PHASE_NAMES = 512
MAX_WORKERS = 4_096
MAX_OPEN = 1_000  # phases that a batch lists as open; the server reads no further
MAX_ATTRS_BYTES = 16 << 10
MAX_CONFIG_BYTES = 256 << 10
MAX_BODY_SECONDS = 10
MAX_RANK = MAX_ROUNDS = (1 << 31) - 1
MAX_FIGURE = 1 << 62

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# A kind's number is its index here; the order is part of the wire and may only grow.
KINDS = ("compute", "input", "encode", "transfer", "aggregate", "persist", "apply", "wait", "other")
KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}

PHASE_KINDS = {
    name: kind
    for kind, names in {
        "compute": "train forward backward optimizer eval step",
        "input": "data h2d",
        "encode": "encode decode prepare serialize quantize compress",
        "transfer": "upload download sync allreduce allgather reducescatter broadcast send recv",
        "aggregate": "aggregate",
        "persist": "persist save checkpoint",
        "apply": "apply load",
        "wait": "wait barrier",
    }.items()
    for name in names.split()
}

# How a phase ended; the number is its index. `aborted`: its process is gone and its shipper ended it.
PHASE_STATES = ("ok", "error", "aborted")
ROLES = ("trainer", "coordinator")


def kind_of(name: str) -> str:
    """The kind of a phase by its name, as PHASE_KINDS has it; "other" where the name says nothing."""
    return PHASE_KINDS.get(name, "other")


def storable(text: str) -> bool:
    """Whether a server can keep the text: its database holds no NUL, and UTF-8 no lone surrogate."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text))


def cleaned(text: str, limit: int = MAX_NAME_CHARS) -> str:
    """The text cut to `limit` characters, with what cannot be kept replaced."""
    text = text[:limit]
    if storable(text):
        return text
    return "".join(REPLACEMENT if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)


def fitting(text: str, limit: int = MAX_NAME_CHARS) -> str:
    """The text as a name that is valid: cleaned, and where it is too long, cut and told apart by a digest."""
    if len(text) <= limit:
        return cleaned(text, limit)
    import hashlib  # noqa: PLC0415 - rarely needed, and dear to import

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{cleaned(text, limit - 17)}~{digest}"


def name_fault(text: str, limit: int = MAX_NAME_CHARS) -> str | None:
    """Why a text is no name, or None where it is one."""
    if not text:
        return "a name is empty"
    if len(text) > limit:
        return f"a name is longer than {limit} characters"
    return None if storable(text) else "a name holds a character that cannot be stored"


@dataclass(slots=True, kw_only=True)
class Identity:
    """Whose stream this is; carried by every batch, so that batches may arrive in any order.

    A worker's stream has `project`, `run` and `worker`; a shipper's own samples have kind "host" and only the machine.
    `machine` is the kernel's boot id made opaque, `began_unix_ns` the wall time at which the attempt began.
    """

    kind: str = "worker"
    project: str = ""
    run: str = ""
    run_found: bool = False
    worker: str = ""
    role: str = "trainer"
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    group: str | None = None
    machine: str = ""
    host: str = ""
    site: str | None = None
    pid: int = 0
    began_unix_ns: int = 0


@dataclass(slots=True, kw_only=True)
class PhaseColumns:
    """Ended phases. A phase's identity is (stream, `start`): the number of its start record, even if that is not sent.

    `parent` is the start number of the phase around it on the same thread; `thread` a small number per stream (0 is the
    first that recorded); `worker` names another worker than the stream's own (record_phase); `clock` is 0 for the
    stream's clock and 1 for explicit Unix nanoseconds. `attrs` indexes the batch's `attrs`.
    """

    number: list[int] = field(default_factory=list)  # delta
    start: list[int] = field(default_factory=list)  # delta
    begin_ns: list[int] = field(default_factory=list)  # delta
    duration_ns: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    round: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    state: list[int] = field(default_factory=list)
    worker: list[int] = field(default_factory=list)
    clock: list[int] = field(default_factory=list)
    attrs: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RoundColumns:
    """Begins (`ended` 0) and ends (`ended` 1) of rounds on this worker; an end carries its begin's time as well."""

    number: list[int] = field(default_factory=list)  # delta
    round: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    begin_ns: list[int] = field(default_factory=list)  # delta
    duration_ns: list[int] = field(default_factory=list)  # 0 for a begin


@dataclass(slots=True, kw_only=True)
class EventColumns:
    """Named instants."""

    number: list[int] = field(default_factory=list)  # delta
    time_ns: list[int] = field(default_factory=list)  # delta
    name: list[int] = field(default_factory=list)
    round: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    attrs: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class SampleColumns:
    """Readings. `metric` indexes the batch's `metrics`; a reading that could not be had is left out, never zero.

    `value` is a number or one of the texts "nan", "inf", "-inf" (JSON has no such numbers, and a loss can be one).
    `device` indexes `names` (for example "gpu0", "eth0"); `worker`, `clock` and `round` are as for phases.
    """

    number: list[int] = field(default_factory=list)  # delta
    time_ns: list[int] = field(default_factory=list)  # delta
    metric: list[int] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    value: list[float | str] = field(default_factory=list)
    worker: list[int] = field(default_factory=list)
    clock: list[int] = field(default_factory=list)
    round: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Lifecycle:
    """One turn in an attempt's life.

    `what` is "begin" (data: name, config, tags, rounds, model_bytes, flops_per_item, conditions, and attempt: facts of
    this attempt that are no conditions), "finish" (data: state finished|failed|killed, error) or "gone" (its process
    ended without a word; written by the shipper; data: reason).
    """

    number: int
    time_ns: int
    what: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Drop:
    """Records that will never come: numbers `number` .. `number + span - 1` stand for `count` lost records.

    `what` says of which sort (sample, phase, event, lifecycle, any), `reason` why (ring full, disk full, damaged,
    torn, power lost); `from_ns` and `to_ns` bound the time in which they were recorded, on the stream's clock, where
    known. A count of 0 says that nobody knows whether anything was lost.
    """

    number: int
    span: int
    count: int
    what: str = "any"
    reason: str = ""
    from_ns: int | None = None
    to_ns: int | None = None


@dataclass(slots=True, kw_only=True)
class OpenPhase:
    """A phase that has begun and not ended, as of the batch's `open_at_ns`; `progress` is done/total where reported."""

    start: int
    begin_ns: int
    name: str
    kind: int
    round: int = -1
    thread: int = 0
    parent: int = -1
    progress: float | None = None


@dataclass(slots=True, kw_only=True)
class Metric:
    """What a sample measures; `source` is "host", "process", "device" or "training" (a number given to run.log)."""

    name: str
    unit: str = ""
    source: str = "host"


@dataclass(slots=True, kw_only=True)
class Batch:
    """Records `first` .. `first + count - 1` of one stream; every number has a record, a start or a drop.

    `starts` are the numbers (delta) of phase starts: they take a number and say nothing more, for the end carries the
    whole phase and `open` lists what has not ended. A heartbeat is a batch of count 0 whose `first` is the next number.
    `open_at_ns` is the last time, on the stream's clock, at which the shipper saw the writer alive; `highest` the
    highest number recorded so far (-1: none), so that the server knows what still waits on the host.
    `offset_ns` maps the stream's clock to the server's; `error_ns` is None where nothing bounds it.
    """

    stream: str  # 32 hexadecimal digits, chosen by the agent
    identity: Identity
    first: int
    count: int
    highest: int = -1
    offset_ns: int = 0
    error_ns: int | None = None
    open_at_ns: int = 0
    alive: bool = True
    names: list[str] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    attrs: list[dict[str, Any]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # delta
    phases: PhaseColumns = field(default_factory=PhaseColumns)
    rounds: RoundColumns = field(default_factory=RoundColumns)
    events: EventColumns = field(default_factory=EventColumns)
    samples: SampleColumns = field(default_factory=SampleColumns)
    lifecycle: list[Lifecycle] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    open: list[OpenPhase] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Request:
    """One POST of one shipper. `t1_ns` is its monotonic clock when it sent, `wall_ns` its wall clock then."""

    version: int = VERSION
    t1_ns: int = 0
    wall_ns: int = 0
    machine: str = ""
    batches: list[Batch] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Result:
    """What became of one batch: `status` is "stored", "deleted" (the run is gone: drop the stream) or "refused".

    A refused batch holds what no smaller one would cure, such as a name that cannot be kept; `reason` says what.
    `missing` lists the holes [first, last] below the highest number stored; `rejected` counts the records of this batch
    that were quarantined.
    """

    stream: str
    status: str
    missing: list[list[int]] = field(default_factory=list)
    rejected: int = 0
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Answer:
    """The server's answer: 2xx means that every batch of the request is committed on disk.

    `t2_ns` and `t3_ns` are the server's clock on arrival and departure; `clock` names that clock: an offset learned
    from one clock says nothing of another. `ask` lists wishes, and one that is not known is passed
    over. {"what": "stacks", "stream": "...", "start": 7} wishes for the thread stacks of the process while its phase 7
    is open. Its answer is an event "stacks" of that stream with the attribute `start`, and either `threads`, a list of
    {"name", "frames": [[file, line, function], ...] innermost first, "more": frames beyond them}, main thread first,
    `left_out`, the threads beyond them, and `only_main` where the main thread alone could be asked; or `failed`, why
    the process cannot tell.
    """

    results: list[Result] = field(default_factory=list)
    t2_ns: int = 0
    t3_ns: int = 0
    clock: str = ""
    ask: list[dict[str, Any]] = field(default_factory=list)


def delta(values: list[int]) -> list[int]:
    """The first value, then each value's difference to the one before it."""
    return list(map(sub, values, [0, *values]))


def undelta(differences: list[int]) -> list[int]:
    """The inverse of `delta`."""
    total = 0
    return [total := total + difference for difference in differences]


def encode(request: Request) -> bytes:
    """A request as the gzip-compressed JSON body to send. Raises ValueError for a number that JSON has no form for."""
    text = ENCODER.encode(request).encode("utf-8", "surrogatepass")
    # What zlib would choose takes 256 KiB: to get them takes many times what packing a small body does.
    small = len(text) <= SMALL_BYTES
    packer = zlib.compressobj(1, zlib.DEFLATED, GZIP + (12 if small else 15), 5 if small else 8)
    return packer.compress(text) + packer.flush()


def _fields(shape: Any) -> dict[str, Any]:
    # dataclasses.asdict copies every list, which takes five times as long as encoding them.
    names, values = FORMS[type(shape)]
    return dict(zip(names, values(shape), strict=True))


FORMS = {
    kind: (tuple(kind.__slots__), attrgetter(*kind.__slots__))
    for kind in (
        *(PhaseColumns, RoundColumns, EventColumns, SampleColumns),
        *(Request, Batch, Identity, Lifecycle, Drop, OpenPhase, Metric),
    )
}
ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False, default=_fields)
GZIP = 16  # added to the bits of zlib's window it asks for gzip's header and checksum
SMALL_BYTES = 32 << 10


def decode_answer(body: bytes) -> Answer:
    """An answer's body as an `Answer`; fields this version does not know are passed over. Raises ValueError."""
    try:
        raw = json.loads(body)
        results = [
            Result(**{k: r[k] for k in ("stream", "status", "missing", "rejected")}, reason=str(r.get("reason", "")))
            for r in raw["results"]
        ]
        return Answer(results=results, **{k: raw[k] for k in ("t2_ns", "t3_ns", "clock", "ask")})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an answer: {error!r}") from error
