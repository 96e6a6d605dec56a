"""What the agents' README promises to list, it lists."""

import inspect
import re

import pytest

from roundwatch import cli
from roundwatch.run import Run, init
from tests.agents.conftest import SOURCES

README = (SOURCES.parent / "README.md").read_text()
PACKAGE = SOURCES / "roundwatch"
INTERNAL = {"ROUNDWATCH_LAUNCH_ID"}  # set by `roundwatch run` for the processes of its command


def test_every_module_has_its_line() -> None:
    table = README.split("## Modules")[1].split("## Decisions")[0]
    told = {name for row in table.splitlines() for name in re.findall(r"`([\w/]+)`", row.split(" | ")[0])}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    rooms = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert told == modules | rooms


def test_every_variable_that_is_read_is_told() -> None:
    sources = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert set(re.findall(r"ROUNDWATCH_[A-Z_]*[A-Z]", sources)) - INTERNAL <= set(re.findall(r"ROUNDWATCH_\w+", README))


@pytest.mark.parametrize("name", [name for name in vars(Run) if not name.startswith("_")])
def test_every_call_is_told(name: str) -> None:
    if callable(getattr(Run, name)):
        assert f"run.{name}(" in README


def test_every_argument_of_init_is_told() -> None:
    call = re.search(r"`init\(([^)]*)\)`", README)
    assert call is not None
    assert re.findall(r"\w+", call[1]) == list(inspect.signature(init).parameters)


def test_every_command_is_told() -> None:
    assert [name for name in cli.COMMANDS if f"`roundwatch {name}" not in README] == []


def test_nobody_is_told_to_install_what_no_index_has() -> None:
    told = [README, *(path.read_text() for path in (SOURCES.parent / "examples").glob("*.*"))]
    assert not [text for text in told if re.search(r"pip install [^\n]*(?<![./])\broundwatch\b", text)]
