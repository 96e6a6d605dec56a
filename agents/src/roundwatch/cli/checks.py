"""What doctor looks at on this host: identity, places to keep records, CPU limits."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roundwatch import folders, identity, inventory, launchers, shipper, stacks
from roundwatch.samplers.base import Paths
from roundwatch.samplers.cgroup import NO_QUOTA, QUOTA, CgroupSampler

MIN_RING_BYTES = 64 << 20
MIN_SPOOL_BYTES = 1 << 30
FULL_BYTES = 1 << 20
# What numeric libraries take their number of threads from, before they count the visible CPUs.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Line:
    """One finding. `mark` is ok, warn, bad (records are not kept or do not arrive) or none (not there to be had)."""

    mark: str
    subject: str
    text: str


def identity_lines(environment: launchers.Environment = os.environ, proc: Path = launchers.PROC) -> Iterator[Line]:
    """Run, worker and machine as `init` without arguments would find them, and where each is from."""
    found = identity.find(environment=environment, proc=proc)
    if found.run_id is None:
        yield Line("ok", "run", "no launcher tells one: each start is a run of its own, unless init gets a run_id")
    else:
        yield Line("ok", "run", f"{found.run_id} (from {found.sources['run']})")
    yield Line("ok", "worker", f"{found.worker} (from {found.sources['worker']})")
    if found.rank is not None:
        local = "" if found.local_rank is None else f", number {found.local_rank} on its host"
        of = f"{found.rank} of {found.world_size or '?'}{local}"
        yield Line("ok", "rank", f"{of} (from {found.sources['rank']})")
    if found.group is not None:
        yield Line("ok", "group", f"{found.group} (from {found.sources['group']})")
    yield Line("ok", "machine", f"{found.machine} (from the kernel's boot id), host {found.host}")
    if found.site is not None:
        yield Line("ok", "site", f"{found.site} (from {found.sources['site']})")
    for doubt in found.doubts:
        yield Line("warn", "not believed", doubt)


def storage_lines() -> Iterator[Line]:
    """Whether a killed process loses anything, and whether there is a disk for what cannot be sent yet."""
    tmpfs = folders.tmpfs()
    if tmpfs is None:
        yield Line("warn", "rings", "no writable tmpfs: SIGKILL safety is off, a killed process loses its last records")
    else:
        yield _room(
            "rings", str(tmpfs), MIN_RING_BYTES, "a killed process loses nothing", "SIGKILL safety is off when full"
        )
    try:
        spool = folders.spool(os.environ.get("ROUNDWATCH_SPOOL", ""))
        folders.make_private(spool)
    except (OSError, ValueError) as error:
        yield Line("bad", "spool", f"cannot be used: {error}")
        return
    yield from _private_rings(spool)
    yield _disk(spool)
    for part in inventory.parts(spool):
        if part.streams:
            yield _waiting(part)
    yield from _last_words()


def _private_rings(spool: Path) -> Iterator[Line]:
    """Trainings that found no room on tmpfs when they began."""
    folders_of_rings = (folders.rings_of(part.path) for part in inventory.parts(spool))
    rings = [path for folder in folders_of_rings if folder.is_dir() for path in folder.glob("*.ring")]
    private = sum(path.is_symlink() for path in rings)
    if private:
        what = f"{private} of {len(rings)} trainings found no room and record in memory of their own"
        yield Line("warn", "rings in use", f"{what}: SIGKILL safety is off for them")


def _disk(spool: Path) -> Line:
    """Whether the spool's disk takes what must wait."""
    if not os.access(spool, os.W_OK):
        return Line("bad", "spool", f"{spool} cannot be written to: what the server cannot take is dropped")
    if shutil.disk_usage(spool).free < FULL_BYTES:
        return Line("bad", "spool", f"{spool}, the disk is full: what the server cannot take is dropped")
    kind = folders.filesystem(spool) or "unknown filesystem"
    return _room("spool", str(spool), MIN_SPOOL_BYTES, f"on {kind}", "what the server cannot take is soon dropped")


def _last_words() -> Iterator[Line]:
    """What the shipper of this destination wrote last, where there is or was one."""
    try:
        log = shipper.destination_of(dict(os.environ)).folder / folders.LOG
        lines = log.read_text(errors="replace").splitlines()
    except (OSError, ValueError):  # no shipper yet; a bad URL is told where the server is looked for
        return
    if lines:
        yield Line("warn" if " WARNING " in lines[-1] or " ERROR " in lines[-1] else "ok", folders.LOG, lines[-1])


def _waiting(part: inventory.Part) -> Line:
    """What lies in one folder of the spool, and how it leaves it."""
    origin = f"for {part.server}" if part.server else "offline"
    what = f"{streams(len(part.streams))}, {in_bytes(part.size)}, recorded {origin}"
    if part.served:
        return Line("ok", f"waiting in {part.path.name}", f"{what}; a shipper is at work")
    advice = f"`roundwatch sync {part.path.parent}{f' --from {part.path.name}' if part.server else ''}` sends them"
    return Line("warn", f"waiting in {part.path.name}", f"{what}; nobody ships them: {advice}")


def _room(subject: str, folder: str, least: int, good: str, poor: str) -> Line:
    free = shutil.disk_usage(folder).free
    mark, text = ("ok", good) if free >= least else ("warn", poor)
    return Line(mark, subject, f"{folder}, {in_bytes(free)} free: {text}")


def stack_lines() -> Iterator[Line]:
    """Whether a training here could tell what its threads do, when the server asks it."""
    why = stacks.why_not()
    if why:
        yield Line("none", "thread stacks", f"not told by a training here: {stacks.WHY_NOT[why]}")
    else:
        yield Line("ok", "thread stacks", f"a training tells them within 1 s; {stacks.VARIABLE}=off forbids it")


def cpu_lines(paths: Paths | None = None) -> Iterator[Line]:
    """The quota beside the number of threads that software will start, or why there is none to be seen."""
    sampler = CgroupSampler(paths or Paths())
    readings = {reading.metric: reading.value for reading in sampler.read()}
    visible = readings.get("visible_cpus", float(os.cpu_count() or 1))
    set_to = next((name for name in THREADS if os.environ.get(name, "").isdigit()), None)
    threads = float(os.environ[set_to]) if set_to else visible
    what = f"{visible:.0f} visible, {threads:.0f} threads by {set_to or 'the visible CPUs'}"
    quota = readings.get(QUOTA)
    if quota is None:
        unlimited = sampler.absent.get(QUOTA) == NO_QUOTA
        why = "none is set" if unlimited else f"not known, nor throttled time: {sampler.absent.get(QUOTA)}"
        yield Line("ok" if unlimited else "none", "quota", f"{why}; CPUs: {what}")
    elif threads > quota:
        advice = f"set OMP_NUM_THREADS={max(1, int(quota))}, or raise the quota"
        yield Line("warn", "quota", f"{quota:g} CPUs, but {what}: they throttle each other; {advice}")
    else:
        yield Line("ok", "quota", f"{quota:g} CPUs; {what}")


def streams(count: int) -> str:
    """A number of streams for people: "1 stream"."""
    return f"{count} stream{'' if count == 1 else 's'}"


def in_bytes(value: float) -> str:
    """A size for people: "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"
