"""Runs with rounds and findings, stored for tests of the pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

from dashboard.teams.models import Team
from ingest.models import Finding, Round, Run, RunFigures, Worker
from ingest.store import standings
from roundwatch.wire import KINDS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def make_run(team: Team, name: str = "vit-b16", *, age_m: float = 0, **fields: Any) -> Run:
    """A run that started `age_m` minutes before noon."""
    started = NOON - timedelta(minutes=age_m)
    known = {
        "project": "vit-pets",
        "key": f"{name}-{Run.objects.count()}",
        "heard_at": started,
        "first_day": started.date(),
    }
    return Run.objects.create(
        team=team, name=name, started_at=started, **(known | {"last_day": started.date()} | fields)
    )  # fmt: skip


def add_workers(run: Run, machines: list[str]) -> list[Worker]:
    """One trainer on each of `machines`."""
    return [
        Worker.objects.create(
            run=run,
            index=index,
            name=f"host-{index:02}",
            host=f"node{index}",
            machine=machine,
            last_seen=run.started_at,
        )
        for index, machine in enumerate(machines)
    ]


def add_round(run: Run, index: int, wall_s: float | None, *, generation: int = 0, **fields: Any) -> Round:
    """A closed round of `wall_s` seconds, an open one for None."""
    begin_ns = int(run.started_at.timestamp()) * 10**9 + index * 60 * 10**9
    return Round.objects.create(
        run=run, index=index, generation=generation, begin_ns=begin_ns,
        end_ns=None if wall_s is None else begin_ns + round(wall_s * 1e9), closed=wall_s is not None, **fields,
    )  # fmt: skip


def settle() -> None:
    """Have all runs summed up, as the watcher does within seconds."""
    standings.note(Run.objects.values_list("pk", flat=True), crew=True)
    while standings.bring_up():
        pass


def kinds(**seconds: float) -> list[float]:
    """Seconds per kind as a round keeps them."""
    return [seconds.get(kind, 0.0) for kind in KINDS]


def add_finding(
    run: Run, rounds: list[int], *, state: str = "open", phase: str = "encode", age_m: float = 0
) -> Finding:
    """A straggler in `rounds`, opened `age_m` minutes before noon."""
    opened = NOON - timedelta(minutes=age_m)
    return Finding.objects.create(
        run=run, kind="straggler", fingerprint=f"{phase}-{rounds}-{state}", state=state, phase=phase, rounds=rounds,
        observed=f"host-07 took 18.0 s for {phase}", opened_at=opened, updated_at=opened,
    )  # fmt: skip


def add_figures(run: Run, round_s: float, **more: Any) -> RunFigures:
    """What a run of two A40 came to, its median round of so many seconds."""
    known = {
        "rounds": 20, "trainers": 2, "devices": 2, "device": "NVIDIA A40", "newest_ns": 1, "round_s": round_s,
        "round_s_p5": 0.9 * round_s, "round_s_p95": 1.2 * round_s,
    }  # fmt: skip
    return RunFigures.objects.create(run=run, **(known | more))
