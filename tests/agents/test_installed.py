"""The package installed alone, in an environment that has nothing else: what comes with it, and what it loads."""

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "agents"
INSTALLED = "import importlib.metadata as m, json; print(json.dumps([d.name for d in m.distributions()]))"
LOADED = """
import sys
import roundwatch
alone = sorted(sys.modules)
run = roundwatch.init("p", mode="offline")
with run.round(0), run.phase("train", items=1):
    run.log(loss=1.0)
run.finish()
import json
print(json.dumps([alone, sorted(sys.modules)]))
"""
NETWORK = {"http", "ssl", "socketserver", "urllib.request", "asyncio", "email", "multiprocessing"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment into which the package alone was installed, without an index to ask."""
    folder = tmp_path_factory.mktemp("installed")
    # Copied, for what is built leaves a folder behind; and not that of an earlier build.
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(PACKAGE, folder / "agents", ignore=ignored)
    alone = ["--disable-pip-version-check", "--no-index", "--quiet"]
    pip = [sys.executable, "-m", "pip"]
    wheel = ["wheel", *alone, "--no-build-isolation", "--no-deps", "-w", str(folder / "wheels"), str(folder / "agents")]
    subprocess.run([*pip, *wheel], check=True, capture_output=True, timeout=100)
    venv.create(folder / "venv", symlinks=True)
    interpreter = folder / "venv" / "bin" / "python"
    [made] = (folder / "wheels").glob("*.whl")
    subprocess.run([*pip, "--python", str(interpreter), "install", *alone, str(made)], check=True, timeout=100)
    return interpreter


def told(python: Path, code: str, folder: Path) -> list[list[str]]:
    command = [str(python), "-I", "-c", code]
    environment = {"ROUNDWATCH_SPOOL": str(folder / "spool")}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return list(json.loads(answer.stdout))


def test_it_is_one_package_with_a_command(python: Path, tmp_path: Path) -> None:
    assert told(python, INSTALLED, tmp_path) == ["roundwatch"]
    command = [str(python.with_name("roundwatch")), "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("roundwatch 0")


def test_importing_it_loads_nothing_outside_the_standard_library_and_no_network(python: Path, tmp_path: Path) -> None:
    alone, after_a_run = (set(names) for names in told(python, LOADED, tmp_path))
    for names in (alone, after_a_run):
        foreign = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"__main__"}
        assert foreign <= {"roundwatch", "sitecustomize", "usercustomize"}, foreign
        assert not NETWORK & names
    assert {name for name in alone if name.startswith("roundwatch")} == {"roundwatch"}
    assert "roundwatch.run" in after_a_run
