"""NVIDIA's profiling fields, from a dcgm-exporter beside the trainings: what utilisation hides.

ROUNDWATCH_DCGM_URL says where it is; without it the usual place on this host is tried where there is an NVIDIA driver.
"""

import math
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping

from roundwatch.samplers.base import Paths, Reading
from roundwatch.samplers.rates import Clock, Due

USUAL = "http://127.0.0.1:9400/metrics"
TIMEOUT_S = 1.0
MAX_BYTES = 4 << 20
AGAIN_S = 30.0  # where nobody answered
SM_ACTIVE = "gpu_sm_active_ratio"
# Our metric and its unit by the exporter's name without "DCGM_FI_", in all the spellings it has had.
FIELDS = {
    name: told
    for told, names in {
        (SM_ACTIVE, "ratio"): "PROF_SM_ACTIVE SM_ACTIVE",
        ("gpu_sm_occupancy_ratio", "ratio"): "PROF_SM_OCCUPANCY SM_OCCUPANCY",
        (
            "gpu_tensor_active_ratio",
            "ratio",
        ): "PROF_PIPE_TENSOR_ACTIVE PROF_TENSOR_ACTIVE TENSOR_ACTIVE PIPE_TENSOR_ACTIVE",
        ("gpu_dram_active_ratio", "ratio"): "PROF_DRAM_ACTIVE DRAM_ACTIVE",
        ("gpu_engine_active_ratio", "ratio"): "PROF_GR_ENGINE_ACTIVE GR_ENGINE_ACTIVE",
    }.items()
    for name in names.split()
}
LINE = re.compile(r"(?:DCGM_FI_(?:DEV_)?|DCGM_)(\w+)\s*\{(.*)\}\s+(\S+)(?:\s+-?\d+)?\s*", re.IGNORECASE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class DcgmSampler:
    """One scrape a reading, bounded in time and size. A value that stands for "none" is left out."""

    name = "dcgm"

    def __init__(self, url: str | None, host: str = "", clock: Clock = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._url, self._clock = url, clock
        self.due = Due(clock=clock)
        self._host = host or socket.gethostname()
        self._again_at = float("-inf")

    def read(self) -> list[Reading]:
        if self._url is None:
            self.absent = {SM_ACTIVE: "no NVIDIA driver here, and ROUNDWATCH_DCGM_URL is not set"}
            return []
        if self._clock() < self._again_at:
            return []
        try:
            text = fetch(self._url)
        except (OSError, ValueError) as error:
            self._again_at = self._clock() + AGAIN_S
            self.absent = {SM_ACTIVE: f"no dcgm-exporter answers at {self._url}: {error}"}
            return []
        readings = list(parse(text, self._host))
        missing = {metric for metric, _ in FIELDS.values()} - {reading.metric for reading in readings}
        why = f"{self._url} does not tell it; its profiling fields may be off, or the device has none"
        self.absent = dict.fromkeys(sorted(missing), why)
        return readings


def place(environment: Mapping[str, str] = os.environ, paths: Paths | None = None) -> str | None:
    """Where to scrape; None where nothing says that there is anything."""
    if url := environment.get("ROUNDWATCH_DCGM_URL"):
        return url
    return USUAL if ((paths or Paths()).proc / "driver" / "nvidia" / "version").exists() else None


def fetch(url: str) -> str:
    """The exporter's text. Raises OSError and ValueError: no answer in time, too much, not HTTP."""
    import http.client  # noqa: PLC0415 - trainings import this package, and need no HTTP
    import urllib.request  # noqa: PLC0415

    if not url.startswith(("http://", "https://")):
        raise ValueError("ROUNDWATCH_DCGM_URL must begin with http:// or https://")
    deadline = time.monotonic() + TIMEOUT_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    body = bytearray()
    try:
        with opener.open(url, timeout=TIMEOUT_S) as answer:
            while part := answer.read1(1 << 16):
                body += part
                if len(body) > MAX_BYTES:
                    raise ValueError(f"more than {MAX_BYTES >> 20} MiB of text")
                if time.monotonic() > deadline:
                    raise TimeoutError("too slow")
    except http.client.HTTPException as error:
        raise ValueError(f"not HTTP ({error!r})") from error
    return body.decode(errors="replace")


def parse(text: str, host: str) -> Iterator[Reading]:
    """The profiling fields of this host's devices.

    A text that speaks of several hosts, as one that is gathered for a cluster does, is read for ours alone.
    """
    rows = list(_rows(text))
    named = {row[2] for row in rows}
    ours = {name for name in named if _short(name) == _short(host)} if len(named) > 1 else named
    for (metric, unit), device, name, value in rows:
        if name in ours:
            yield Reading(metric, unit, value, device, "device")


def _short(host: str) -> str:
    return host.partition(".")[0]


def _rows(text: str) -> Iterator[tuple[tuple[str, str], str, str, float]]:
    """(metric and unit, device, host, value) of each line that is about a profiling field and has a value."""
    for line in text.splitlines():
        match = None if line.startswith("#") else LINE.fullmatch(line)
        told = FIELDS.get(match[1].upper()) if match else None
        if match is None or told is None:
            continue
        labels = {key.lower(): value for key, value in LABEL.findall(match[2])}
        device, value = _device(labels), _value(match[3])
        if device and value is not None:
            yield told, device, labels.get("hostname", ""), value


def _device(labels: Mapping[str, str]) -> str:
    """The UUID, with the number of the MIG instance that the line is about."""
    uuid, instance = labels.get("uuid", ""), labels.get("gpu_i_id", "")
    return f"{uuid}/{instance}" if uuid and instance else uuid


def _value(text: str) -> float | None:
    """A ratio. What stands for "blank" or "not supported" is a number far above, such as 2**31 - 16 or 2**47."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= 1 else None
