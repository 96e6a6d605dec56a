"""Single conditions in words: their names, their values with units, and which of them matter most."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

_NBSP = "\N{NO-BREAK SPACE}"
# By weight: what the devices are, what the host is allowed, which versions ran; anything else follows.
_LABELS = {
    "devices": "devices",
    "driver": "device driver",
    "cuda": "CUDA",
    "rocm": "ROCm",
    "nccl": "NCCL",
    "torch": "torch",
    "cpu_quota_cpus": "CPU quota",
    "visible_cpus": "CPUs that software sees",
    "cpus": "CPUs of the host",
    "cpu_model": "CPU",
    "memory_bytes": "memory of the host",
    "memory_limit_bytes": "memory limit",
    "kernel": "kernel",
    "architecture": "architecture",
    "python": "Python",
    "job_submitted_unix_s": "job submitted",
    "job_start_unix_s": "job started",
    "job_waited_s": "job waited for its start",
    "user": "account on the host",
    "wandb": "in W&B",
    "mlflow": "in MLflow",
}
_ORDER = list(_LABELS)
_UNKNOWN = "null"
_MOST_CHARS = 500
_DEEPEST = 8
_MOST = 1 << 62
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_LINKS = ("wandb", "mlflow")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in words; `href` is the web address that it is, where it is one."""

    text: str
    href: str = ""
    unknown: bool = False

    def __str__(self) -> str:
        return self.text


def flat(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts by name; those that belong together, as settings do, as "environment OMP_NUM_THREADS"."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            found |= {f"{name} {part}": inner for part, inner in value.items()}
        else:
            found[name] = value
    return found


def nested(settings: dict[str, Any], path: str = "", deep: int = _DEEPEST) -> dict[str, Any]:
    """Settings by their path, as "optimizer.lr"; what lies deeper than `deep` stays one value."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and value and deep:
            found |= nested(value, f"{path}{name}.", deep - 1)
        else:
            found[f"{path}{name}"] = value
    return found


def plain(setting: Any) -> Value:
    """A setting as text: a string as it is, anything else as JSON, cut where it is long."""
    shown = setting if isinstance(setting, str) else json.dumps(setting, ensure_ascii=False)
    return Value(shown if len(shown) <= _MOST_CHARS else f"{shown[:_MOST_CHARS]}…")


def text(known: dict[str, Any], name: str) -> str:
    """A value so that equal ones are equal texts; what was not said is JSON's null."""
    return json.dumps(known.get(name), sort_keys=True, ensure_ascii=False)


def weight(name: str) -> tuple[int, str]:
    """Sorts by what matters most."""
    return (_ORDER.index(name) if name in _LABELS else len(_ORDER), name)


def label(name: str) -> str:
    """What a fact is called on pages."""
    return _LABELS.get(name, name)


def value(name: str, said: str) -> Value:
    """A value that `text` gave, as people read it."""
    if said == _UNKNOWN:
        return Value("not known", unknown=True)
    plain = json.loads(said)
    if isinstance(plain, int | float) and not isinstance(plain, bool) and abs(plain) < _MOST:
        return Value(_figure(name, plain))
    shown = plain if isinstance(plain, str) else said
    is_link = name in _LINKS and shown.startswith(("https://", "http://"))
    return Value(shown[:_MOST_CHARS], href=shown if is_link else "")


def _figure(name: str, number: float) -> str:
    if name.endswith("_bytes"):
        return _bytes(number)
    if name.endswith("_unix_s") and 0 <= number < 1 << 33:
        return f"{dt.datetime.fromtimestamp(number, dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    if name == "job_waited_s":
        return f"{number:.12g}{_NBSP}s"
    return f"{number:g} CPUs" if name == "cpu_quota_cpus" else f"{number:.12g}"


def _bytes(number: float) -> str:
    power = 0
    while abs(number) >= 1024 and power < len(_UNITS) - 1:
        number, power = number / 1024, power + 1
    return f"{number:.{1 if power and number < 100 else 0}f}{_NBSP}{_UNITS[power]}"
