"""A run that has everything an export tells of: nested, crossing and open phases, events, gaps, readings, rounds."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from dashboard.runs.exports.formats import FORMATS
from dashboard.runs.exports.pages import Slice
from dashboard.teams.models import Team
from ingest.models import Run
from ingest.store import rounds
from tests.ingest.batches import HostRecorder, Recorder
from tests.ingest.storing import store

# Not on a microsecond, as no clock is.
BEGIN_NS = 1_764_000_000_123_456_789
MS = 1_000_000


def at(ms: float) -> int:
    """A time of the run in Unix nanoseconds."""
    return BEGIN_NS + round(ms * MS)


def make_run(team: Team, *, workers: int = 2, count: int = 2, key: str = "run-1") -> Run:
    """`count` rounds of so many workers, on a machine each; the last worker has phases that never ended."""
    for index in range(workers):
        recorder = Recorder(f"rank-{index}", run=key, rank=index, machine=f"machine-{index}", began_ns=BEGIN_NS)
        recorder.begin(rounds=count)
        for number in range(count):
            _round(recorder, number)
        recorder.drop(3, 7, from_ns=at(1000 * count), to_ns=at(1000 * count + 50))
        if index == workers - 1:
            recorder.open("checkpoint", at(1000 * count + 60), round=-1)
        recorder.last_ns = at(1000 * count + 90)
        store(team, [recorder.batch()])
        host = HostRecorder(machine=f"machine-{index}", began_ns=BEGIN_NS)
        for step in range(3):
            host.sample("host_load1", 0.5 + step, at(100 * step + 100.0005), unit="load")
        store(team, [host.batch()])
    run = Run.objects.get(team=team, key=key)
    rounds.close_ended(run.pk)
    return run


def _round(recorder: Recorder, number: int) -> None:
    begin = 1000.0 * number
    recorder.begin_round(number, at(begin))
    outer = recorder.next_number
    recorder.phase("train", at(begin + 1), at(begin + 600), round=number, items=64)
    inner = recorder.next_number
    recorder.phase("forward", at(begin + 1), at(begin + 200.0004), round=number, parent=outer)
    recorder.phase("data", at(begin + 10), at(begin + 20), round=number, parent=inner)
    # A sibling that begins before the one before it has ended, as in asyncio.
    recorder.phase("prefetch", at(begin + 150), at(begin + 300), round=number, parent=outer)
    recorder.phase("backward", at(begin + 200.0004), at(begin + 600), round=number, parent=outer)
    recorder.phase("upload", at(begin + 50), at(begin + 700.5), round=number, thread=1, nbytes=1 << 40)
    recorder.phase("save", at(begin + 700), at(begin + 990.123456), round=number, state="error", error="no room")
    recorder.event("retained", at(begin + 650), round=number, label="model")
    recorder.sample("gpu_memory_used", 1e9 + number, at(begin + 500), device="0", unit="B")
    recorder.sample("loss", "nan" if number else 1.25, at(begin + 640), source="training")
    recorder.end_round(number, at(begin + 995))


def made(run: Run, form: str, path: Path, *, seconds: float = 1e9) -> bytes:
    """The file as it is made in slices of so many seconds, each by a maker of its own."""
    known: dict[str, Any] | None = None
    with path.open("w+b") as file:
        while True:
            known, is_done = _slice(run, form, file, known, seconds)
            if is_done:
                break
    return path.read_bytes()


def _slice(
    run: Run, form: str, file: BinaryIO, known: dict[str, Any] | None, seconds: float
) -> tuple[dict[str, Any], bool]:
    maker = FORMATS[form].load()(run, file, known)
    is_done = maker.advance(Slice.of(seconds))
    return json.loads(json.dumps(maker.told())), is_done


def events(data: bytes) -> list[dict[str, Any]]:
    """The events of a trace."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress(data))["traceEvents"]
    return found


def bars(data: bytes) -> list[dict[str, Any]]:
    """The phases of a trace, those that are open among them."""
    return [one for one in events(data) if one["ph"] == "X" and one["cat"] not in ("round", "gap")]


def files(data: bytes) -> dict[str, bytes]:
    """What an archive holds, checked, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}
