"""Utilisation trap: devices count as busy while little useful is computed, since waiting in a collective is busy too.

Eligible are workers of which utilisation is sampled. Missing data means: a window without utilisation, or with neither
lost time nor model FLOPs utilisation (MFU), says nothing of a worker, and breaks no row of windows of others.
"""

from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Flags, Floats, Window, Worker
from ingest.detection.verdicts import Verdict, fingerprint

KIND = "utilisation_trap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them."""

    busy: float = 0.80  # utilisation from which on a device seems to work
    lost: float = 0.30  # of the step in input, exposed transfer and wait
    useful: float = 0.70  # of the run's own best sustained MFU
    windows: int = 3  # in a row


DEFAULT = Policy()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readings:
    """Windows (oldest first) by workers, shares from 0 to 1, NaN where there is none.

    `utilisation` is the devices' mean, `lost` (input + exposed transfer + wait) / step, `mfu` useful FLOPs over peak.
    """

    utilisation: Floats
    lost: Floats
    mfu: Floats


def judge(
    windows: tuple[Window, ...], workers: tuple[Worker, ...], readings: Readings, policy: Policy = DEFAULT
) -> tuple[Verdict | None, str]:
    """The incident as of the newest window, or None; and why nothing could be said, or an empty text."""
    if len(windows) < policy.windows:
        return None, f"fewer than {policy.windows} windows yet"
    if not np.isfinite(readings.utilisation[-policy.windows :]).any():
        return None, "no device utilisation was sampled"
    best = sustained(readings.mfu, policy.windows)
    trapped = _trapped(readings, best, policy)
    columns = np.flatnonzero(trapped[-policy.windows :].all(axis=0))
    if not len(columns):
        return None, ""
    return _verdict(windows, workers, readings, columns.tolist(), _since(trapped[:, columns]), best), ""


def sustained(mfu: Floats, windows: int) -> float:
    """The best MFU that all workers together held for so many windows in a row, NaN where there is none."""
    known = np.isfinite(mfu)
    count = known.sum(axis=1)
    means = np.where(count > 0, np.where(known, mfu, 0).sum(axis=1) / np.maximum(count, 1), np.nan)
    held = [means[at : at + windows].min() for at in range(len(means) - windows + 1)]
    return max((float(each) for each in held if np.isfinite(each)), default=float("nan"))


def _trapped(readings: Readings, best: float, policy: Policy) -> Flags:
    # A comparison with NaN is false: what is not known traps nobody.
    little = (readings.lost > policy.lost) | (readings.mfu < policy.useful * best)
    return (readings.utilisation >= policy.busy) & little


def _since(trapped: Flags) -> int:
    """The first of the windows, in a row to the newest, in which any of these workers was trapped."""
    every = trapped.any(axis=1)
    clear = np.flatnonzero(~every)
    return int(clear[-1]) + 1 if len(clear) else 0


def _verdict(
    windows: tuple[Window, ...], workers: tuple[Worker, ...], readings: Readings, columns: list[int], since: int,
    best: float,
) -> Verdict:  # fmt: skip
    busy = _mean(readings.utilisation[-1, columns])
    lost, mfu = _mean(readings.lost[-1, columns]), _mean(readings.mfu[-1, columns])
    told = [f"{lost:.0%} of the step went to input, exposed transfer and waiting"] if lost is not None else []
    told += [f"MFU is {mfu:.0%} of a best of {best:.0%}"] if mfu is not None and np.isfinite(best) else []
    return Verdict(
        kind=KIND,
        fingerprint=fingerprint(KIND, since=None, phase=""),
        phase="",
        severity="warning",
        observed=f"Devices are {busy or 0:.0%} utilised, but {' and '.join(told)}.",
        hypothesis="Waiting in a collective counts as utilisation.",
        workers=tuple(workers[column].name for column in columns),
        rounds=tuple(index for window in windows[since:] for index in window.rounds),
        marks=(),
        opened_ns=windows[since].end_ns,
        resolved_ns=None,
        evidence={"utilisation": busy, "lost": lost, "mfu": mfu, "best_mfu": best if np.isfinite(best) else None},
    )


def _mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return round(float(known.mean()), 4) if len(known) else None
