"""How a subject lists its thresholds: the default is read from its policy, so that it stands in one place."""

from typing import Any

from ingest.detection.thresholds.threshold import Threshold


def threshold(
    subject: str, policy: Any, field: str, name: str, meaning: str, *,
    unit: str, bounds: tuple[float, float], kinds: tuple[str, ...], scale: float = 1.0,
) -> Threshold:  # fmt: skip
    """A threshold of `policy` (a subject's default); `bounds` are the least and the most, in `unit`."""
    usual = getattr(policy, field)
    return Threshold(
        subject=subject, field=field, name=name, meaning=meaning, unit=unit, usual=float(f"{usual / scale:.10g}"),
        least=bounds[0], most=bounds[1], kinds=kinds, scale=scale, whole=scale == 1.0 and isinstance(usual, int),
    )  # fmt: skip
