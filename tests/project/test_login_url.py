"""Commands about people and teams say in one sentence, and at once, that no server runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import REPOSITORY


@pytest.mark.parametrize("command", [["login_url"], ["add_member", "research", "bob"], ["create_team", "research"]])
def test_without_a_server_there_is_one_sentence_and_nothing_else(tmp_path: Path, command: list[str]) -> None:
    told = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=REPOSITORY, env=told | {"ROUNDWATCH_DATA": str(tmp_path)}, capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"CommandError: No Roundwatch runs on {tmp_path}. Start it with sh deploy/up, or say where by ROUNDWATCH_DATA."
    ]
