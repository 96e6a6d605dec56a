"""A run's own baseline: the runs of its project before it that were made under the same conditions."""

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone

from ingest.detection.regression import Compared, RunFigures
from ingest.models import Run
from ingest.models import RunFigures as Kept

_MOST_RUNS = 40  # of which the rule takes the newest that it can judge by
_OLD = dt.timedelta(hours=1)  # after its end nobody is told any more how a run compares
# Versions that decide how long a round takes, beside the configuration.
_VERSIONS = ("torch", "cuda", "rocm", "nccl", "driver", "python", "kernel")
_MOST_CHANGES = 50
_LONGEST = 60  # characters of a name or value
_DEEPEST = 6


def compared(run_id: UUID) -> Compared | None:
    """The run beside comparable ones; None where its figures are not known.

    Comparable are runs of its team and project that began before it, have ended, and had as many trainers and as many
    devices of the same model; and models of one size, where that is known.
    """
    kept = Kept.objects.select_related("run").filter(pk=run_id).first()
    if kept is None or kept.newest_ns is None:
        return None
    run = kept.run
    same = {"device": kept.device, "devices": kept.devices, "trainers": kept.trainers, "run__team": run.team_id}
    rows = Kept.objects.select_related("run").filter(
        **same, run__project=run.project, run__started_at__lt=run.started_at, run__ended_at__isnull=False
    )
    if run.model_bytes is not None:
        rows = rows.filter(run__model_bytes=run.model_bytes)
    earlier = list(rows.order_by("-run__started_at", "pk")[:_MOST_RUNS])[::-1]
    return Compared(
        own=_figures(kept), earlier=tuple(map(_figures, earlier)), group=kept.group, since_ns=kept.newest_ns,
        worker=kept.memory_peak_worker, copy_bytes=run.model_bytes or None,
        changed=changed(earlier[-1].run, run) if earlier else (),
    )  # fmt: skip


def is_old(run: Run) -> bool:
    """Whether the run ended so long ago that people are no longer told of what is found of it."""
    return run.ended_at is not None and timezone.now() - run.ended_at > _OLD


def changed(before: Run, run: Run) -> tuple[str, ...]:
    """What is configured otherwise, or of another version, than in the run before: "lr: 0.001 → 0.01"."""
    was, now = _settings(before), _settings(run)
    names = [name for name in (was | now) if was.get(name) != now.get(name)]
    return tuple(f"{_cut(name)}: {_said(was.get(name))} → {_said(now.get(name))}" for name in names[:_MOST_CHANGES])


def _settings(run: Run) -> dict[str, Any]:
    versions = {name: run.conditions[name] for name in _VERSIONS if name in run.conditions}
    return dict(_nested(run.config)) | versions


def _nested(config: Mapping[str, Any], path: str = "", deep: int = _DEEPEST) -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, dict) and value and deep:
            yield from _nested(value, f"{path}{name}.", deep - 1)
        else:
            yield f"{path}{name}", value


def _said(value: Any) -> str:
    if value is None:
        return "not set"
    return _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _figures(kept: Kept) -> RunFigures:
    return RunFigures(
        run=str(kept.pk), name=kept.run.name, rounds=kept.rounds, round_s=kept.round_s,
        waiting_share=kept.waiting_share, memory_peak_bytes=kept.memory_peak_bytes,
    )  # fmt: skip
