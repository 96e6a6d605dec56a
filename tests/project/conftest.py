"""What the tests of the house share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user reaches, as root's DATA must be; pytest closes its own to others."""
    folder = Path(tempfile.mkdtemp(prefix="rw-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)
