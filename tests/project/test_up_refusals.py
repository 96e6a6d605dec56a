"""`deploy/up` says in one sentence why it cannot start, starts nothing, and exits with an error."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.project.datadir import Lock

REPOSITORY = Path(__file__).resolve().parents[2]


def up(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return subprocess.run(
        ["sh", str(REPOSITORY / "deploy/up"), "--data", str(data), *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def data(open_folder: Path) -> Path:
    return open_folder / "data"


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode != 0
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_a_second_up_on_the_same_data(data: Path) -> None:
    data.mkdir()
    lock = Lock(data / "lock")
    assert lock.take()
    assert re.match("Roundwatch already runs on .*data", refusal(up(data, "--port", "0")))
    lock.release()


def test_a_taken_port(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"Port {port} of 127.0.0.1 is taken" in refusal(up(data, "--port", str(port)))


def test_a_port_that_does_not_exist(data: Path) -> None:
    assert "There is no port 99999" in refusal(up(data, "--port", "99999"))


def test_an_address_that_is_not_ours(data: Path) -> None:
    assert "Cannot listen on 192.0.2.1 port 0" in refusal(up(data, "--port", "0", "--host", "192.0.2.1"))


def test_a_public_url_that_is_none(data: Path) -> None:
    assert "--public-url must look like" in refusal(up(data, "--port", "0", "--public-url", "watch.example.org"))


def test_a_data_folder_that_is_a_file(data: Path) -> None:
    data.touch()
    assert re.match(f"Cannot write to {data}: (file exists|not a directory)", refusal(up(data, "--port", "0")))


def test_a_database_that_does_not_answer(data: Path) -> None:
    nowhere = "postgresql://nobody:secret@127.0.0.1:1/nothing"
    said = refusal(up(data, "--port", "0", DATABASE_URL=nowhere, REDIS_URL="redis://127.0.0.1:1"))
    assert said.startswith("The database does not answer")
    assert "secret" not in said


def test_a_bad_setting(data: Path) -> None:
    assert refusal(up(data, "--port", "0", ROUNDWATCH_DEBUG="maybe")).startswith("ROUNDWATCH_DEBUG must be 1 or 0")


def find_python(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f". {REPOSITORY}/deploy/environment.sh; find_python"],
        env={"PATH": os.defpath, "ROUNDWATCH_PYTHON": str(program)},
        capture_output=True,
        text=True,
        check=False,
    )


def stand_in(folder: Path, *, new_enough: bool) -> Path:
    """A program that answers as a Python does that is too old, or that lacks its venv module."""
    program = folder / "python3"
    versions = "exit 0" if new_enough else "exit 1"
    program.write_text(
        f"#!/bin/sh\ncase $2 in *platform*) echo 3.9.2;; *version_info*) {versions};; *) exit 1;; esac\n"
    )
    program.chmod(0o755)
    return program


def test_a_python_that_is_too_old(tmp_path: Path) -> None:
    program = stand_in(tmp_path, new_enough=False)
    assert refusal(find_python(program)) == f"Roundwatch needs Python 3.11 to 3.14, but {program} is 3.9.2."


def test_a_python_without_venv(tmp_path: Path) -> None:
    program = stand_in(tmp_path, new_enough=True)
    assert "install its venv module" in refusal(find_python(program))


def test_no_python_at_all(tmp_path: Path) -> None:
    assert refusal(find_python(tmp_path / "nothing")).endswith("this machine has none.")


def test_a_python_that_fits_is_taken() -> None:
    assert find_python(Path(sys.executable)).returncode == 0
