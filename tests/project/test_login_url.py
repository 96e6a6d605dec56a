"""`manage.py login_url` without a server says so, in one sentence."""

import os
import subprocess
import sys
from pathlib import Path

from tests.serving import REPOSITORY


def test_without_a_server_there_is_one_sentence_and_no_link(tmp_path: Path) -> None:
    told = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    done = subprocess.run(
        [sys.executable, "manage.py", "login_url"],
        cwd=REPOSITORY, env=told | {"ROUNDWATCH_DATA": str(tmp_path)}, capture_output=True, text=True, timeout=30,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"CommandError: No Roundwatch runs on {tmp_path}. Start it with sh deploy/up, or say where by ROUNDWATCH_DATA."
    ]
