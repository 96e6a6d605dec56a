"""AMD devices: through AMD's management library where its package is installed, else as /sys shows them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from roundwatch.samplers.amd_sysfs import LOOK_AGAIN_S, AmdSysfsSampler
from roundwatch.samplers.base import Paths, Reading
from roundwatch.samplers.rates import Due

# (metric, unit) of each number that the question answers; what the library has not, it calls "N/A".
Question = tuple[tuple[tuple[str, str], ...], Callable[[Any, Any], Iterable[Any]]]


def _percent(value: Any) -> Any:
    return value / 100 if isinstance(value, int | float) else value


def _activity(smi: Any, handle: Any) -> list[Any]:
    told = smi.amdsmi_get_gpu_activity(handle)
    return [_percent(told["gfx_activity"]), _percent(told["umc_activity"])]


def _memory(smi: Any, handle: Any) -> list[Any]:
    kind = smi.AmdSmiMemoryType.VRAM
    return [smi.amdsmi_get_gpu_memory_usage(handle, kind), smi.amdsmi_get_gpu_memory_total(handle, kind)]


def _power(smi: Any, handle: Any) -> list[Any]:
    told = smi.amdsmi_get_power_info(handle)
    named = (told.get(name) for name in ("current_socket_power", "average_socket_power", "socket_power"))
    return [next((value for value in named if isinstance(value, int | float)), None)]


def _temperature(smi: Any, handle: Any) -> list[Any]:
    now = smi.AmdSmiTemperatureMetric.CURRENT
    return [smi.amdsmi_get_temp_metric(handle, smi.AmdSmiTemperatureType.HOTSPOT, now)]


def _clock(which: str) -> Callable[[Any, Any], list[Any]]:
    def ask(smi: Any, handle: Any) -> list[Any]:
        told = smi.amdsmi_get_clock_info(handle, getattr(smi.AmdSmiClkType, which))
        value = told.get("clk", told.get("cur_clk"))
        return [value * 1e6 if isinstance(value, int | float) else value]

    return ask


def _errors(smi: Any, handle: Any) -> list[Any]:
    told = smi.amdsmi_get_gpu_total_ecc_count(handle)
    return [told["correctable_count"], told["uncorrectable_count"]]


QUESTIONS: tuple[Question, ...] = (
    ((("gpu_utilisation_ratio", "ratio"), ("gpu_memory_busy_ratio", "ratio")), _activity),
    ((("gpu_memory_used_bytes", "bytes"), ("gpu_memory_total_bytes", "bytes")), _memory),
    ((("gpu_power_watts", "watts"),), _power),
    ((("gpu_temperature_celsius", "celsius"),), _temperature),
    ((("gpu_sm_clock_hertz", "hertz"),), _clock("GFX")),
    ((("gpu_memory_clock_hertz", "hertz"),), _clock("MEM")),
    ((("gpu_ecc_corrected_errors_total", ""), ("gpu_ecc_uncorrected_errors_total", "")), _errors),
)


class AmdSampler:
    """Asks the library if there is one that works, and /sys otherwise; that is decided with the first reading."""

    name = "amd"

    def __init__(self, paths: Paths) -> None:
        self._sysfs = AmdSysfsSampler(paths)
        self._look_again = Due(LOOK_AGAIN_S)
        self._absent: dict[str, str] | None = None  # None: /sys is asked
        self._smi: Any = None
        self._handles: list[tuple[str, Any]] = []
        self._decided = False

    @property
    def absent(self) -> Mapping[str, str]:
        return self._sysfs.absent if self._absent is None else self._absent

    def due(self) -> bool:
        """Whether there is anything to read, as of a minute ago."""
        return bool(self._handles or self._sysfs.folders) or self._look_again()

    def read(self) -> list[Reading]:
        if not self._decided:
            self._decided = True
            self._open()
        if not self._handles:
            return self._sysfs.read()
        self._absent = {}
        return [
            reading
            for uuid, handle in self._handles
            for question in QUESTIONS
            for reading in self._ask(uuid, handle, question)
        ]

    def _open(self) -> None:
        try:
            import amdsmi  # noqa: PLC0415 - optional: it comes with ROCm

            amdsmi.amdsmi_init()
            handles = amdsmi.amdsmi_get_processor_handles()
            self._handles = [(f"AMD-{amdsmi.amdsmi_get_gpu_device_uuid(handle)}", handle) for handle in handles]
            self._smi = amdsmi
        except Exception:  # noqa: BLE001 - not installed, another version's, without a driver: /sys tells most of it
            self._handles = []

    def _ask(self, uuid: str, handle: Any, question: Question) -> list[Reading]:
        metrics, ask = question
        try:
            values = list(ask(self._smi, handle))
        except Exception as error:  # noqa: BLE001 - the library's errors differ between its versions
            values, why = [None] * len(metrics), f"amdsmi: {error}"
        else:
            why = "not supported by this device"
        readings = []
        for (metric, unit), value in zip(metrics, values, strict=True):
            if isinstance(value, int | float) and not isinstance(value, bool):
                readings.append(Reading(metric, unit, float(value), uuid, "device"))
            elif self._absent is not None:
                self._absent[f"{metric} {uuid}"] = why
        return readings
