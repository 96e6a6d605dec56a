"""The modules of the page, tested in Node: each file as one test here, so that failures are counted and shown."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PRELOADED = HERE.parents[1] / "dashboard/live/templates/live/modules.html"
ASSETS = HERE.parents[1] / "dashboard/live/static/live/js"

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed (on Debian: nodejs)")


@needs_node
@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.mjs")), ids=lambda file: file.name)
def test_in_node(file: Path) -> None:
    done = subprocess.run(["node", "--test", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_stay_small_enough_to_read() -> None:
    long = {path.name: lines for path in ASSETS.glob("*.js") if (lines := len(path.read_text().splitlines())) > 200}
    assert not long


def test_the_page_asks_for_all_its_modules_at_once() -> None:
    listed = set(re.findall(r"live/js/([\w.]+)", PRELOADED.read_text()))
    assert listed == {path.name for path in ASSETS.glob("*.js")}


def test_modules_never_write_markup() -> None:
    """Names are text: nothing on the page parses HTML, and the policy forbids inline styles and handlers."""
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    found = [(path.name, word) for path in ASSETS.glob("*.js") for word in forbidden if word in path.read_text()]
    assert not found
