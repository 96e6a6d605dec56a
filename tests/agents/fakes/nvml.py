"""NVML without a device: the library of nvml.c, built here, in the place of the driver's own."""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")
NAME = "libnvidia-ml.so.1"


def uuid(index: int) -> str:
    """The device's, as the library tells it."""
    return f"GPU-{index:08}-0000-0000-0000-000000000000"


def instance(number: int) -> str:
    """The UUID of an instance of the device that is split: 1 or 2."""
    return f"MIG-{number:08}-0000-0000-0000-000000000000"


def build(folder: Path) -> Path:
    """Compiles the library into a folder, by the name that the driver's has."""
    library = folder / NAME
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Werror",
        f"-Wl,-soname,{NAME}",
        "-o",
        str(library),
        str(SOURCE),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


@functools.cache
def loaded() -> ctypes.CDLL:
    """The library in this process: whoever loads NVML from now on gets it, and finds no driver until it is reset."""
    folder = tempfile.TemporaryDirectory(prefix="roundwatch-nvml-")
    with folder:
        return ctypes.CDLL(str(build(Path(folder.name))))  # loaded, it needs its file no more
