"""Wall clocks that a test sets: those of the server's machine, and those of the host on which trainings run."""

import mmap
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("inside") / "clock.c"
HOUR_S = 3600


class Clock:
    """The wall clock of all processes that are started with `environment`; 0 s ahead until it is set."""

    def __init__(self, folder: Path, name: str) -> None:
        library = folder / "clock.so"
        if not library.exists():
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
            library.chmod(0o755)
        path = folder / f"clock-{name}"
        path.write_bytes(bytes(8))
        path.chmod(0o644)  # Postgres may run as another user
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(library), "ROUNDWATCH_FAULTS_CLOCK": str(path)}

    def set_ahead(self, seconds: int) -> None:
        """From now on they are so many seconds ahead of the true time."""
        self._shared[:] = struct.pack("<q", seconds * 10**9)
