"""Trainings of the frameworks that integrations are for: the README's own lines, in the environment that has them."""

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.agents.collector import Collector, Heard

REPOSITORY = Path(__file__).parents[2]
AROUND = Path(__file__).parent / "frameworks"
PACKAGES = {"flower": "flwr"}  # where the framework's package is called otherwise
# What TorchTitan is told of us by its environment; the others are by code.
TITAN = {"TITAN_STRUCT_LOGGER_HANDLERS": "roundwatch.integrations.torchtitan.register", "ROUNDWATCH_PROJECT": "llama"}
# For a moment after each collective torch's own threads of gloo keep tensors that Python knows, and take Python's lock
# to let go of them. Where the process ends in that moment, Python ends the thread, and C++ then the process by SIGABRT
# (github.com/pytorch/pytorch/issues/190489). With those threads held back by up to 0.3 s each time, 3 of 18 ranks of
# Trainer without us aborted, 1 of 18 with us, and 2 of 18 without us that had destroyed their process group. So what
# ranks do together ends before Python's own last steps: after all that was registered for the end, the run's too, and
# only where nothing failed.
RANKS_BEGIN = "import atexit, os\ntrained = []\natexit.register(lambda: os._exit(0) if trained else None)\n"
RANKS_END = "\ntrained.append(True)\n"
PYTHONS = (Path(sys.prefix) / "frameworks" / "bin" / "python", Path(sys.executable))


@cache
def python_with(package: str) -> Path | None:
    """A Python of this environment that has the package; None for none."""
    code = f"import importlib.util as i, sys; sys.exit(not (i.find_spec({package!r}) and i.find_spec('torch')))"
    found = (
        each for each in PYTHONS if each.exists() and not subprocess.run([each, "-c", code], check=False).returncode
    )
    return next(found, None)


def needs(framework: str) -> pytest.MarkDecorator:
    """Skips a test where a framework's package is not installed."""
    package = PACKAGES.get(framework, framework)
    reason = f"{package} is not installed here: `ROUNDWATCH_TEST_TORCH=1 sh deploy/test` installs it"
    return pytest.mark.skipif(python_with(package) is None, reason=reason)


def snippets(mark: str) -> str:
    """The README's Python of the section on frameworks that says `mark`."""
    section = (REPOSITORY / "agents/README.md").read_text().split("## Frameworks")[1].split("\n## ")[0]
    found = [code for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if mark in code]
    assert found, mark
    return "\n".join(found)


def readme_lines(framework: str) -> str:
    """The training that the README's lines for a framework make, after what stands around them."""
    if framework == "flower":
        both = "client_app.evaluate()(evaluated)\nrun_both(client_app, server_app)\n"
        return "\n".join((snippets("flower.watch"), snippets("flower.client_mod"), both))
    marks = {"lightning": "trainer.fit", "transformers": "trainer.train", "accelerate": "accelerator.prepare"}
    return snippets(marks[framework]) if framework in marks else ""


def training(folder: Path, framework: str, body: str, *, ranks: int = 1) -> Path:
    """A file in `folder` with the training `body` and what stands around it."""
    file = folder / f"{framework}_training.py"
    text = (AROUND / f"{framework}.py").read_text() + "\n\n" + body
    file.write_text(f"{RANKS_BEGIN}{text}{RANKS_END}" if ranks > 1 else text)
    return file


def run(
    file: Path, framework: str, environment: dict[str, str], *, ranks: int = 1
) -> "subprocess.CompletedProcess[str]":
    """Runs a training to its end, with `roundwatch run` around it, which ships all that it records."""
    python = str(python_with(PACKAGES.get(framework, framework)))
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "HF_HUB_OFFLINE": "1", "TRAINING_FOLDER": str(file.parent), **TITAN}
    return subprocess.run(
        [sys.executable, "-m", "roundwatch", "run", "--", python, *torchrun, str(file)],
        env={**os.environ, **one_thread, **quiet, **environment},
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )


def train(
    collector: Collector, folder: Path, framework: str, body: str, *, ranks: int = 1, fails: bool = False, **more: str
) -> list[Heard]:
    """Runs a training; what each life of each of its workers recorded, the first first."""
    send = {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t", "ROUNDWATCH_SPOOL": str(folder / "spool")}
    done = run(training(folder, framework, body, ranks=ranks), framework, {**send, **more}, ranks=ranks)
    assert bool(done.returncode) == fails, done.stderr
    assert "left out" not in done.stderr, done.stderr
    return sorted(collector.workers(), key=lambda heard: (heard.identity["worker"], heard.identity["began_unix_ns"]))


def said(heard: Heard, what: str) -> dict[str, Any]:
    """What an attempt said of itself when it began, or when it finished."""
    return dict(next(row["data"] for row in heard.of("lifecycle") if row["what"] == what))


def counts(heard: Heard) -> Counter[str]:
    """How many phases there are of each name."""
    return Counter(row["name"] for row in heard.phases())


def metrics(heard: Heard) -> set[str]:
    """The numbers that the training told."""
    return {row["metric"]["name"] for row in heard.of("sample") if row["metric"]["source"] == "training"}


def around(heard: Heard, name: str) -> set[str]:
    """The names of the phases around those that are called `name`; "" for none."""
    names = {row["start"]: row["name"] for row in heard.phases()}
    return {names.get(row["parent"], "") for row in heard.phases(name)}
