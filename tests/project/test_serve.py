"""The web server's process, before it serves."""

import subprocess
import sys

from tests.serving import REPOSITORY

_LOADED = """
import gc, uvicorn
from dashboard.project import serve

serve.load(uvicorn.Config("dashboard.project.asgi:application"))
print(gc.get_freeze_count(), len(gc.get_objects()))
"""


def test_the_collector_passes_over_what_the_application_is_made_of() -> None:
    told = subprocess.run([sys.executable, "-c", _LOADED], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    passed_over, looked_through = map(int, told.stdout.split())
    assert passed_over > 20 * looked_through
