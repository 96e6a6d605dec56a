"""A folder of its own for the files of each test's exports."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Where files of exports lie."""
    settings.EXPORTS = tmp_path / "exports"
    return tmp_path / "exports"
