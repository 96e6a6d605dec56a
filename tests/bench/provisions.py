"""What the sides of `rivals` are installed from: a folder for each package with all that it depends on.

They lie in the user's cache folder. Torch is not among them: every side steps through the torch of this environment.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.host import REPOSITORY

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundwatch" / "bench-rivals"
PIP = (
    sys.executable,
    "-m",
    "pip",
    "--disable-pip-version-check",
    "install",
    "--quiet",
    "--no-warn-conflicts",
    "--target",
)
MIB = 1 << 20


class MissingError(Exception):
    """A package cannot be installed here; the text says what pip said."""


@dataclass(frozen=True)
class Installed:
    """A folder for PYTHONPATH, what is in it as pip made it, and the version of the package itself."""

    folder: Path
    packages: int
    mib: float
    version: str

    def added_to(self, environment: dict[str, str]) -> dict[str, str]:
        """That environment, with which Python finds what is in the folder, after what PYTHONPATH has."""
        return environment | {"PYTHONPATH": os.pathsep.join((environment["PYTHONPATH"], str(self.folder)))}


def rival(name: str) -> Installed:
    """The newest of that package when it was first asked for; raises MissingError."""
    folder = CACHE / f"{name}-{sys.implementation.cache_tag}"
    if not folder.exists():
        print(f"installing {name} into {folder}", flush=True)
        _install(folder, [name])
    return _told(folder, name)


def ours(folder: Path) -> Installed:
    """The agents' package, built from the sources here, in a new folder within `folder`; raises MissingError."""
    source = folder / "agents"
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(REPOSITORY / "agents", source, ignore=ignored)  # what is built leaves a folder behind
    _install(folder / "installed", ["--no-index", "--no-build-isolation", str(source)])
    return _told(folder / "installed", "roundwatch")


def _install(folder: Path, what: list[str]) -> None:
    """As a whole or not at all: whoever asks for it at the same time makes the same."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        made = Path(beside) / "made"
        done = subprocess.run([*PIP, made, *what], check=False, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or ["ERROR: pip failed"]
            raise MissingError(lines[-1].removeprefix("ERROR: "))
        if not folder.exists():
            made.rename(folder)


def _told(folder: Path, name: str) -> Installed:
    found = list(importlib.metadata.distributions(path=[str(folder)]))
    [version] = [one.version for one in found if one.metadata["Name"] == name]
    size = sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())
    return Installed(folder, len(found), size / MIB, version)
