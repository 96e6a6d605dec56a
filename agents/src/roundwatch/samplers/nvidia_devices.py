"""What NVIDIA devices are doing: utilisation, memory, power, heat, clocks and what holds them down, errors.

"Not supported", as MIG and vGPU answer much, is absent. What changes slowly or seldom is read every four seconds.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from roundwatch.samplers.base import Reading
from roundwatch.samplers.nvidia import Device, Nvml
from roundwatch.samplers.rates import Clock, Due

# (metric, unit) of each number that the question answers.
Question = tuple[tuple[tuple[str, str], ...], Callable[[Any, Any], Iterable[float]]]


def _one(metric: str, unit: str, ask: Callable[[Any, Any], float]) -> Question:
    return ((metric, unit),), lambda nv, handle: [ask(nv, handle)]


def _utilisation(nv: Any, handle: Any) -> list[float]:
    rates = nv.nvmlDeviceGetUtilizationRates(handle)
    return [rates.gpu / 100, rates.memory / 100]


def _memory(nv: Any, handle: Any) -> list[float]:
    told = nv.nvmlDeviceGetMemoryInfo(handle)
    return [told.used, told.total]


def _temperature(nv: Any, handle: Any) -> float:
    try:
        return float(nv.nvmlDeviceGetTemperature(handle, nv.NVML_TEMPERATURE_GPU))
    except nv.NVMLError_FunctionNotFound:  # drivers of 2025 and later may know the newer call only
        return float(nv.nvmlDeviceGetTemperatureV1(handle, nv.NVML_TEMPERATURE_GPU))


def _reasons(nv: Any, handle: Any) -> list[float]:
    """The reasons as one number of bits, and whether power, heat or the board itself is among them."""
    try:
        bits = nv.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nv.NVMLError_FunctionNotFound:  # its name before 2023
        bits = nv.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    power = nv.nvmlClocksThrottleReasonSwPowerCap | nv.nvmlClocksThrottleReasonHwPowerBrakeSlowdown
    heat = nv.nvmlClocksThrottleReasonSwThermalSlowdown | nv.nvmlClocksThrottleReasonHwThermalSlowdown
    board = nv.nvmlClocksThrottleReasonHwSlowdown
    return [bits, *(float(bool(bits & mask)) for mask in (power, heat, board))]


def _errors(kind: str) -> Callable[[Any, Any], float]:
    return lambda nv, handle: nv.nvmlDeviceGetTotalEccErrors(handle, getattr(nv, kind), nv.NVML_VOLATILE_ECC)


OFTEN: tuple[Question, ...] = (
    ((("gpu_utilisation_ratio", "ratio"), ("gpu_memory_busy_ratio", "ratio")), _utilisation),
    ((("gpu_memory_used_bytes", "bytes"), ("gpu_memory_total_bytes", "bytes")), _memory),
    _one("gpu_power_watts", "watts", lambda nv, h: nv.nvmlDeviceGetPowerUsage(h) / 1e3),
    _one("gpu_sm_clock_hertz", "hertz", lambda nv, h: nv.nvmlDeviceGetClockInfo(h, nv.NVML_CLOCK_SM) * 1e6),
    (
        (
            ("gpu_clocks_event_reasons", ""),
            ("gpu_throttled_by_power", ""),
            ("gpu_throttled_by_heat", ""),
            ("gpu_throttled_by_board", ""),
        ),
        _reasons,
    ),
)
SELDOM: tuple[Question, ...] = (
    _one("gpu_temperature_celsius", "celsius", _temperature),
    _one("gpu_memory_clock_hertz", "hertz", lambda nv, h: nv.nvmlDeviceGetClockInfo(h, nv.NVML_CLOCK_MEM) * 1e6),
    _one("gpu_power_limit_watts", "watts", lambda nv, h: nv.nvmlDeviceGetEnforcedPowerLimit(h) / 1e3),
    _one("gpu_sm_clock_max_hertz", "hertz", lambda nv, h: nv.nvmlDeviceGetMaxClockInfo(h, nv.NVML_CLOCK_SM) * 1e6),
    _one("gpu_ecc_corrected_errors_total", "", _errors("NVML_MEMORY_ERROR_TYPE_CORRECTED")),
    _one("gpu_ecc_uncorrected_errors_total", "", _errors("NVML_MEMORY_ERROR_TYPE_UNCORRECTED")),
)
XID = "gpu_xid_error_code"


class NvidiaSampler:
    """Every device and MIG instance in turn: what one refuses or fails at, the others still tell."""

    name = "nvidia"

    def __init__(self, nvml: Nvml, clock: Clock = time.monotonic) -> None:
        self._nvml, self._seldom = nvml, Due(clock=clock)
        self._faults = Faults(nvml)

    @property
    def absent(self) -> Mapping[str, str]:
        devices = self._nvml.devices()
        if not devices:
            return {"gpu_utilisation_ratio": self._nvml.why}
        return {
            f"{metric} {device.uuid}": why
            for device in devices
            for asked, why in (device.refused | device.absent).items()
            for metric in METRICS.get(asked, ())
        }

    def read(self) -> list[Reading]:
        questions = OFTEN + SELDOM if self._seldom() else OFTEN
        devices = self._nvml.devices()
        readings = [reading for device in devices for reading in self._of(device, questions)]
        return [*readings, *self._faults.read(devices)]

    def _of(self, device: Device, questions: Iterable[Question]) -> list[Reading]:
        readings = []
        for metrics, question in questions:
            told = device.ask(metrics[0][0], partial(question, self._nvml.api))
            if told is not None:
                pairs = zip(metrics, told, strict=True)
                readings += [
                    Reading(metric, unit, float(value), device.uuid, "device") for (metric, unit), value in pairs
                ]
        if not device.instance:
            readings.append(Reading("gpu_reachable", "", float(not device.lost), device.uuid, "device"))
        return readings


class Faults:
    """XID errors, which the driver tells as they happen: one a device and reading, the first first."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self._events: Any = None
        self._listening: dict[Device, deque[int]] = {}
        self._by_handle: dict[int, deque[int]] = {}  # as the library's own handles name the device

    def read(self, devices: list[Device]) -> list[Reading]:
        for device in devices:
            if device not in self._listening and not device.instance and not device.lost:
                self._listen(device)
        if self._events is not None:
            self._take()
        return [
            Reading(XID, "", float(codes.popleft()), device.uuid, "device")
            for device, codes in self._listening.items()
            if codes
        ]

    def _listen(self, device: Device) -> None:
        nv = self._nvml.api
        if self._events is None:
            self._events = device.ask(XID, lambda _: nv.nvmlEventSetCreate())
        if self._events is None:
            return
        self._listening[device] = self._by_handle[_address(device.handle)] = deque()
        device.ask(XID, lambda h: nv.nvmlDeviceRegisterEvents(h, nv.nvmlEventTypeXidCriticalError, self._events))

    def _take(self) -> None:
        """Everything that has been told since."""
        nv = self._nvml.api
        for _ in range(64):
            try:
                event = nv.nvmlEventSetWait_v2(self._events, 0)
            except nv.NVMLError:  # a timeout: nothing more
                return
            codes = self._by_handle.get(_address(event.device))
            if codes is not None and event.eventType == nv.nvmlEventTypeXidCriticalError:
                codes.append(int(event.eventData))


def _address(handle: Any) -> int:
    """A handle is a pointer, and each call makes another object of it."""
    import ctypes  # noqa: PLC0415 - loaded with the library, never without

    return ctypes.cast(handle, ctypes.c_void_p).value or 0


# What each question, named by its first metric, would have told.
METRICS = {metrics[0][0]: [metric for metric, _ in metrics] for metrics, _ in (*OFTEN, *SELDOM)} | {XID: [XID]}
