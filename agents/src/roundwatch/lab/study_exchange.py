"""The study's dry run, whose exchange took longer than its training, and the follow-up that mended it.

Published of the dry run were: training and exchange of the first two rounds, prepare and deliver with its upload,
aggregate, aggregation to sync start with the save in it, apply with its download, the coordinator's peak of memory,
sampled every 2 s, and that it kept memory afterwards. Of the follow-up: two hosts on one GPU, aggregation to sync
start below 10 s, no save, deltas applied, and flatter memory with a lower peak. All else is made up. The source is the
study of distributed training rounds, phase by phase, that was published in October 2026.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from roundwatch.lab.composing import Composer, held
from roundwatch.lab.shapes import Act, Read, Scenario, Who

GIB = float(1 << 30)
MODEL_BYTES = 2_500_000_000
PARAMETERS = 632_000_000
TRAIN_S, UPLOAD_S = 48.0, 0.7
SAMPLED_S, AFTERWARDS_S = 2.0, 80.0
PEAK_BYTES = 34.4 * GIB
CONFIG = {
    "model": "ViT-H/14", "parameters": PARAMETERS, "dtype": "float32", "batch": 32, "delta_codec": "q4",
    "local_steps": 20,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One round's seconds; `prepare_s` (upload included), `apply_s` and `download_s` for each of two hosts.

    `start_s` is from the end of aggregation to sync start, `save_s` of it the save, 0 for none. `most` and
    `floor` are what the coordinator holds while it aggregates and when the round is over, in bytes.
    """

    prepare_s: tuple[float, float]
    aggregate_s: float
    start_s: float
    save_s: float
    apply_s: tuple[float, float]
    download_s: tuple[float, float]
    most: float
    floor: float


DRY = (
    Exchange(
        prepare_s=(17.8, 22.3), aggregate_s=3.4, start_s=22.6, save_s=14.0, apply_s=(9.8, 11.7),
        download_s=(0.5, 0.6), most=29.6 * GIB, floor=12.0 * GIB,
    ),
    Exchange(
        prepare_s=(19.4, 18.6), aggregate_s=2.9, start_s=23.4, save_s=15.0, apply_s=(12.6, 14.5),
        download_s=(0.6, 0.7), most=PEAK_BYTES, floor=24.5 * GIB,
    ),
)  # fmt: skip
MENDED = tuple(
    Exchange(
        prepare_s=(8.4 + 0.1 * index, 8.9 - 0.1 * index), aggregate_s=2.6, start_s=6.0 + 0.2 * index, save_s=0.0,
        apply_s=(4.8, 5.1 + 0.1 * index), download_s=(0.5, 0.5), most=16.5 * GIB, floor=(7.6 + 0.05 * index) * GIB,
    )
    for index in range(4)
)  # fmt: skip


def dry_run() -> Scenario:
    """Two rounds on two hosts; memory is kept after the end."""
    host = {"devices": "1 x NVIDIA A40"}
    return _scenario(
        "dry-run",
        "2 hosts, ViT-H/14: 60 s of exchange beside 48 s of training, a save that nobody uses, memory kept (5 min)",
        DRY,
        hosts=tuple(Who(name=f"host-{at}", machine=f"machine-{at}", rank=at, conditions=host) for at in range(2)),
    )


def follow_up() -> Scenario:
    """Four rounds on two hosts that share one GPU; the exchange is mended."""
    host = {"devices": "1 x AMD MI300X"}
    return _scenario(
        "follow-up",
        "2 hosts on one MI300X after the repair: sync starts within 10 s, nothing is saved or kept (6 min)",
        MENDED,
        hosts=tuple(Who(name=f"host-{at}", machine="machine-0", rank=at, conditions=host) for at in range(2)),
    )


def _scenario(name: str, about: str, exchanges: Sequence[Exchange], *, hosts: tuple[Who, ...]) -> Scenario:
    coordinator = Who(name="coordinator", machine="coordinator", role="coordinator")
    last = exchanges[-1].floor

    def after(end_s: float) -> tuple[Read, ...]:
        readings = round(AFTERWARDS_S / SAMPLED_S)
        return tuple(held("coordinator", last, end_s + SAMPLED_S * each) for each in range(1, readings + 1))

    return Scenario(
        name=name,
        about=about,
        workers=(coordinator, *hosts),
        rounds=len(exchanges),
        make=lambda index, begin_s, _failing: _round(exchanges, index, begin_s),
        config=CONFIG,
        model_bytes=MODEL_BYTES,
        after=after,
    )


def _round(exchanges: Sequence[Exchange], index: int, begin_s: float) -> Act:
    made, it = Composer(begin_s), exchanges[index]
    for at, prepare_s in enumerate(it.prepare_s):
        made.phase(f"host-{at}", "train", TRAIN_S, items=640)
        made.phase(f"host-{at}", "prepare", prepare_s - UPLOAD_S)
        made.phase(f"host-{at}", "upload", UPLOAD_S, nbytes=MODEL_BYTES // 8)
    made.until("coordinator", "wait", max(made.at.values()))
    aggregated = made.phase("coordinator", "aggregate", it.aggregate_s, after="upload")
    made.event("coordinator", "aggregated", aggregated)
    if it.save_s:
        made.phase("coordinator", "save", it.save_s, nbytes=MODEL_BYTES, artifact=f"fallback-{index}")
    made.gap("coordinator", it.start_s - it.save_s)  # what was between them was not published
    sync = aggregated + it.start_s
    made.event("coordinator", "sync start", sync)
    for at, apply_s in enumerate(it.apply_s):
        host = f"host-{at}"
        made.until(host, "wait", sync)
        made.phase(host, "apply", apply_s, after="aggregate")
        made.inside(host, "download", sync, sync + it.download_s[at], nbytes=MODEL_BYTES // 8, after="aggregate")
        made.event(host, "synchronised", made.at[host])
    made.until("coordinator", "wait", max(made.at.values()))
    _memory(made, it, exchanges[index - 1].floor if index else 5.0 * GIB, aggregated, sync)
    return made.act()


def _memory(made: Composer, it: Exchange, before: float, aggregated_s: float, sync_s: float) -> None:
    """The coordinator's process every two seconds: models come in, are aggregated, and go, or do not."""
    end, at = made.at["coordinator"], made.begin_s
    while at < end:
        full = it.most if at < sync_s else it.floor
        made.memory("coordinator", before if at < aggregated_s - it.aggregate_s else full, at)
        at += SAMPLED_S
    made.memory("coordinator", it.floor, end)
