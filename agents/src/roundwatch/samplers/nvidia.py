"""The door to NVIDIA's management library (NVML): opened when first asked for, its devices looked up once in a while.

The package nvidia-ml-py is optional, and imported here and nowhere else. A device is named by its UUID; the instances
of one that is split (MIG) are devices of their own.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundwatch.samplers.base import reason
from roundwatch.samplers.rates import Clock

LOOK_AGAIN_S = 60.0
DRIVERS = (Path("/proc/driver/nvidia"), Path("/dev/dxg"))  # where a driver shows itself without any library
NOT_INSTALLED = "nvidia-ml-py is not installed (pip install 'PATH/agents[nvidia]')"
NO_DRIVER = "there is no NVIDIA driver"
LOST = "the device has fallen off the bus"
# It cannot be had from this device or this driver, now or later.
FOR_GOOD = {
    "NVMLError_NotSupported": "not supported by this device",
    "NVMLError_FunctionNotFound": "not known to this driver",
    "NVMLError_NoPermission": "not permitted to this user",
}


@dataclass(slots=True, eq=False)
class Device:
    """One device or MIG instance. `refused` holds why a question need not be asked again, `absent` why it failed now.

    `bus` is its PCI address as Linux writes it ("0000:3b:00.0"), the same for the instances of one device.
    """

    uuid: str
    index: int
    name: str
    bus: str
    handle: Any
    instance: bool = False
    lost: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def ask(self, what: str, question: Callable[[Any], Any]) -> Any:
        """The question's answer for this device's handle; None where it has none, with the reason noted."""
        if what in self.refused:
            return None
        if self.lost:
            self.absent[what] = LOST
            return None
        try:
            answer = question(self.handle)
        except Exception as error:  # noqa: BLE001 - NVML's errors are made at run time; a driver may bring new ones
            self._note(what, error)
            return None
        self.absent.pop(what, None)
        return answer

    def _note(self, what: str, error: Exception) -> None:
        kind = type(error).__name__
        if kind in FOR_GOOD:
            self.refused[what] = FOR_GOOD[kind]
            return
        self.lost = kind == "NVMLError_GpuIsLost"
        self.absent[what] = LOST if self.lost else str(error)


class Nvml:
    """The library and its devices, for all samplers of a process. May be used by several threads.

    `why` says why there are no devices.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.why = ""
        self.api: Any = None
        self._clock = clock
        self._lock = threading.Lock()
        self._devices: list[Device] = []
        self._look_at = float("-inf")

    def devices(self) -> list[Device]:
        """What is there, as of at most a minute ago, devices that were lost since included."""
        with self._lock:
            now = self._clock()
            if now >= self._look_at:
                self._look_at = now + LOOK_AGAIN_S
                self._look()
            return self._devices

    def version(self) -> str | None:
        """The driver's version."""
        return str(self.api.nvmlSystemGetDriverVersion()) if self.devices() else None

    def _look(self) -> None:
        try:
            if self.api is None:
                self.api = _opened()
            known = {device.index: device for device in self._devices if not device.instance}
            count = self.api.nvmlDeviceGetCount()
        except ModuleNotFoundError:
            self.why = NOT_INSTALLED if any(map(os.path.exists, DRIVERS)) else NO_DRIVER
        except Exception as error:  # noqa: BLE001 - no driver, an old one, one that is being replaced
            self.why = f"no NVIDIA driver answers ({reason(error) if isinstance(error, OSError) else error})"
            self.api, self._devices = None, []  # opened anew next time: the driver may have been replaced
        else:
            found = [device for index in range(count) for device in self._found(index, known.get(index))]
            self._devices, self.why = found, "" if found else "the NVIDIA driver knows no device"

    def _found(self, index: int, known: Device | None) -> list[Device]:
        """The device at this index and its instances; the known one where it is still the same, or lost."""
        nv = self.api
        try:
            handle = nv.nvmlDeviceGetHandleByIndex(index)
            uuid = nv.nvmlDeviceGetUUID(handle)
        except nv.NVMLError as error:
            if known is not None and type(error).__name__ == "NVMLError_GpuIsLost":
                known.lost = True
            return [known] if known is not None else []
        if known is None or known.uuid != uuid or known.lost:
            known = Device(uuid, index, self._told(nv.nvmlDeviceGetName, handle), self._bus(handle), handle)
        return [known, *self._instances(known)]

    def _instances(self, device: Device) -> list[Device]:
        nv = self.api
        mode = device.ask("MIG", nv.nvmlDeviceGetMigMode)
        if not mode or not mode[0]:
            return []
        kept = {one.uuid: one for one in self._devices if one.instance}
        found = []
        for number in range(device.ask("MIG count", nv.nvmlDeviceGetMaxMigDeviceCount) or 0):
            try:
                handle = nv.nvmlDeviceGetMigDeviceHandleByIndex(device.handle, number)
                uuid = nv.nvmlDeviceGetUUID(handle)
            except nv.NVMLError:  # fewer are made than there is room for
                continue
            made = Device(uuid, device.index, device.name, device.bus, handle, instance=True)
            found.append(kept.get(uuid, made))
        return found

    def _told(self, question: Callable[[Any], Any], handle: Any) -> str:
        try:
            return str(question(handle))
        except self.api.NVMLError:
            return ""

    def _bus(self, handle: Any) -> str:
        """NVML writes the domain with eight digits and capitals, Linux with four and small letters."""
        try:
            address = self.api.nvmlDeviceGetPciInfo_v3(handle).busId
        except self.api.NVMLError:
            return ""
        text = address.decode() if isinstance(address, bytes) else str(address)
        return text.lower()[-12:]


def _opened() -> Any:
    """The library, ready. Raises ModuleNotFoundError without the package, its own errors without a driver."""
    import pynvml  # noqa: PLC0415 - optional, and slow to import

    pynvml.nvmlInit()
    return pynvml


NVML = Nvml()
