"""Runs each file of JavaScript tests under node's own test runner, so that pytest counts and reports them."""

import shutil
import subprocess
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.rglob("*.test.js")) + sorted(Path(__file__).parent.rglob("*.test.mjs"))
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed; it is needed only to test our ES modules")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_modules_do_what_their_tests_say(file: Path) -> None:
    result = subprocess.run([str(NODE), "--test", str(file)], capture_output=True, text=True, check=False, timeout=100)
    assert result.returncode == 0, result.stdout + result.stderr
