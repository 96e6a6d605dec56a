"""What the command line teaches, when it is coloured, and how it ends when nobody reads on."""

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from roundwatch import cli

COLOUR = "\033["


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A host where nothing is set but the spool, at a terminal that knows colours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROUNDWATCH_", "NO_COLOR"))}
    path = os.pathsep.join(sys.path)
    return kept | {"ROUNDWATCH_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": path, "TERM": "xterm"}


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_each_commands_help_shows_how_it_is_used_and_what_its_exit_codes_mean(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([command, "--help"])
    assert left.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: roundwatch {command}")
    examples, _, codes = told.partition("\nexamples:\n")[2].partition("\n\nexit codes:\n")
    assert len(re.findall(rf"\broundwatch {command}\b", examples)) >= 2
    assert re.search(r"^  +2 +\S", codes, re.MULTILINE)
    assert max(map(len, told.splitlines())) <= 120


def at_a_terminal(environment: dict[str, str]) -> str:
    """What doctor prints to somebody who sits at one."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "roundwatch", "doctor"], env=environment, stdout=theirs)
    os.close(theirs)
    told = b""
    with suppress(OSError):  # what a terminal answers once nobody is there any more
        while part := os.read(ours, 1 << 16):
            told += part
    os.close(ours)
    assert process.wait(30) == 0
    return told.decode()


def test_doctor_is_coloured_at_a_terminal_alone_and_not_where_that_is_not_wanted(environment: dict[str, str]) -> None:
    assert COLOUR in at_a_terminal(environment)
    assert COLOUR not in at_a_terminal(environment | {"NO_COLOR": "1"})
    command = [sys.executable, "-m", "roundwatch", "doctor"]
    piped = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert COLOUR not in piped.stdout
    assert "host_load1" in piped.stdout


def test_a_reader_that_has_read_enough_is_no_fault_to_be_told_of(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "roundwatch", "doctor"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == 141
        assert process.stderr.read() == ""
