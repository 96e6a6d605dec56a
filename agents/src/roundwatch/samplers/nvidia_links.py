"""How NVIDIA devices are connected: PCIe generation, width and traffic, NVLink's links and traffic, and what is less
than it could be."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from roundwatch.samplers.base import Reading
from roundwatch.samplers.nvidia import Device, Nvml
from roundwatch.samplers.rates import Clock, Due, Rates

STATE_S = 10.0
BUSY_STATE = 2  # P0 to P2: above, an idle device lowers its link to save power, which is no fault
ALL_LINKS = 0xFFFFFFFF
KIB = 1024
PCIE = ("gpu_pcie_transmit_bytes_per_second", "gpu_pcie_receive_bytes_per_second")
NVLINK = ("gpu_nvlink_transmit_bytes_per_second", "gpu_nvlink_receive_bytes_per_second")
GENERATION, WIDTH = "gpu_pcie_link_generation", "gpu_pcie_link_width"
PCIE_DOWN, LINKS, LINKS_DOWN = "gpu_pcie_downgraded", "gpu_nvlink_links", "gpu_nvlink_links_down"
REPLAYS = "gpu_pcie_replays_total"
METRICS = {*PCIE, *NVLINK, GENERATION, WIDTH, PCIE_DOWN, LINKS, LINKS_DOWN, REPLAYS}


class NvidiaLinkSampler:
    """Traffic over four seconds, the state of the links every ten."""

    name = "nvidia links"

    def __init__(self, nvml: Nvml, clock: Clock = time.monotonic) -> None:
        self._nvml, self._rates = nvml, Rates(clock)
        self.due, self._state_due = Due(clock=clock, twice=True), Due(STATE_S, clock)

    @property
    def absent(self) -> Mapping[str, str]:
        devices = self._nvml.devices()
        if not devices:
            return {PCIE[0]: self._nvml.why}
        return {
            f"{metric} {device.uuid}": why
            for device in devices
            for metric, why in (device.refused | device.absent).items()
            if metric in METRICS
        }

    def read(self) -> list[Reading]:
        readings: list[Reading] = []
        state = self._state_due()
        for device in self._nvml.devices():
            if not device.instance:  # the instances of one device share its links
                readings += [*self._pcie_traffic(device), *self._nvlink_traffic(device)]
                readings += [*self._pcie(device), *self._nvlink(device)] if state else []
        return readings

    def _pcie_traffic(self, device: Device) -> list[Reading]:
        nv = self._nvml.api
        counters = (nv.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, nv.NVML_FI_DEV_PCIE_COUNT_RX_BYTES)
        counted = device.ask("PCIe counters", lambda h: _counted(nv, h, counters))
        if counted is not None:
            return self._grown(device, PCIE, counted)
        # Devices without counters are watched by the driver for 20 ms a question.
        readings = []
        for metric, which in zip(PCIE, (nv.NVML_PCIE_UTIL_TX_BYTES, nv.NVML_PCIE_UTIL_RX_BYTES), strict=True):
            rate = device.ask(metric, partial(_watched, nv, which))
            if rate is not None:
                readings.append(_reading(device, metric, "bytes/s", rate * 1e3))
        return readings

    def _nvlink_traffic(self, device: Device) -> list[Reading]:
        nv = self._nvml.api
        fields = (nv.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, nv.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX)
        counted = device.ask(NVLINK[0], lambda h: _counted(nv, h, [(each, ALL_LINKS) for each in fields]))
        return [] if counted is None else self._grown(device, NVLINK, [count * KIB for count in counted])

    def _grown(self, device: Device, metrics: tuple[str, ...], counted: list[int]) -> list[Reading]:
        readings = []
        for metric, count in zip(metrics, counted, strict=True):
            rate = self._rates.per_second((metric, device.uuid), count)
            if rate is not None:
                readings.append(_reading(device, metric, "bytes/s", rate))
        return readings

    def _pcie(self, device: Device) -> list[Reading]:
        nv = self._nvml.api
        generation = device.ask(GENERATION, nv.nvmlDeviceGetCurrPcieLinkGeneration)
        width = device.ask(WIDTH, nv.nvmlDeviceGetCurrPcieLinkWidth)
        best = device.ask(
            PCIE_DOWN, lambda h: (nv.nvmlDeviceGetMaxPcieLinkGeneration(h), nv.nvmlDeviceGetMaxPcieLinkWidth(h))
        )
        told = {GENERATION: generation, WIDTH: width, REPLAYS: device.ask(REPLAYS, nv.nvmlDeviceGetPcieReplayCounter)}
        if best is not None and width is not None:
            down = _downgraded((generation, width), best, device.ask("state", nv.nvmlDeviceGetPerformanceState))
            told[PCIE_DOWN] = None if down is None else float(down)
        return [_reading(device, metric, "", value) for metric, value in told.items() if value is not None]

    def _nvlink(self, device: Device) -> list[Reading]:
        links = device.ask(LINKS, lambda h: _links(self._nvml.api, h))
        if links is None:
            return []
        up, down = links
        return [_reading(device, LINKS, "", up), _reading(device, LINKS_DOWN, "", down)]


def _reading(device: Device, metric: str, unit: str, value: float) -> Reading:
    return Reading(metric, unit, float(value), device.uuid, "device")


def _counted(nv: Any, handle: Any, fields: Any) -> list[int]:
    """The counters' values. Raises NVML's error for the first that is not there."""
    counted = []
    for answer in nv.nvmlDeviceGetFieldValues(handle, list(fields)):
        if answer.nvmlReturn != nv.NVML_SUCCESS:
            raise nv.NVMLError(answer.nvmlReturn)
        counted.append(
            int(answer.value.ullVal if answer.valueType != nv.NVML_VALUE_TYPE_UNSIGNED_INT else answer.value.uiVal)
        )
    return counted


def _watched(nv: Any, which: int, handle: Any) -> int:
    return int(nv.nvmlDeviceGetPcieThroughput(handle, which))


def _downgraded(now: tuple[int | None, int], best: tuple[int, int], state: int | None) -> bool | None:
    """Whether fewer lanes or a lower generation are in use than both ends could; None where an idle device hides it."""
    (generation, width), (best_generation, best_width) = now, best
    if width < best_width:
        return True
    if generation is None or (generation < best_generation and (state is None or state > BUSY_STATE)):
        return None
    return generation < best_generation


def _links(nv: Any, handle: Any) -> tuple[int, int]:
    """How many NVLinks are up and down. Raises NVML's "not supported" for a device without any."""
    up = down = 0
    for link in range(nv.NVML_NVLINK_MAX_LINKS):
        try:
            state = nv.nvmlDeviceGetNvLinkState(handle, link)
        except (nv.NVMLError_NotSupported, nv.NVMLError_InvalidArgument):
            if link == 0:
                raise
            break
        up, down = up + bool(state), down + (not state)
    return up, down
