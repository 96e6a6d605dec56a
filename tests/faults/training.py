"""One training process with an oracle, as tests watch it from outside."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.e2e.product import Product, command_of, until

WRITER = Path(__file__).with_name("writer.py")


class Training:
    """One writer with a spool of its own, hence a shipper of its own, unless it is given another's.

    `url` is where it sends (the product's own address unless given), `environment` adds to what it is told.
    """

    def __init__(
        self,
        product: Product,
        folder: Path,
        run_id: str,
        *,
        threads: int = 1,
        pause_s: float = 0.005,
        url: str = "",
        spool: Path | None = None,
        everything: bool = False,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.product, self.run_id = product, run_id
        self.oracle, self.spool = folder / "oracle", spool or folder / "spool"
        self.environment = {
            **os.environ,
            "ROUNDWATCH_URL": url or product.url,
            "ROUNDWATCH_TOKEN": product.ready["token"],
            "ROUNDWATCH_SPOOL": str(self.spool),
            **(environment or {}),
        }
        command = [sys.executable, str(WRITER), "--run-id", run_id, "--worker", "w", "--oracle", str(self.oracle)]
        command += ["--threads", str(threads), "--pause-s", str(pause_s)]
        command += ["--everything"] if everything else []
        self.process = subprocess.Popen(command, env=self.environment)

    def lines(self) -> int:
        return self.oracle.read_bytes().count(b"\n") if self.oracle.exists() else 0

    def go_on(self, lines: int) -> None:
        """Waits until that many more calls have returned."""
        goal = self.lines() + lines
        until(60, lambda: self.lines() >= goal, "the training goes on")

    def shippers(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and "roundwatch" in command_of(int(entry.name)):
                try:
                    environment = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if str(self.spool).encode() in environment and int(entry.name) != self.process.pid:
                    found.append(int(entry.name))
        return found

    def finish(self) -> None:
        """SIGTERM: the run ends as killed, and all that was recorded is to be shipped."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(5)
        for pid in self.shippers():
            os.kill(pid, signal.SIGKILL)

    def run(self) -> dict[str, Any] | None:
        page = self.product.try_get("/api/v1/runs?limit=1000")
        return next((run for run in page["items"] if run["key"] == self.run_id), None) if page else None

    def phases(self) -> list[dict[str, Any]]:
        run = self.run()
        return list(self.product.items(f"/api/v1/runs/{run['id']}/phases?name=train")) if run else []

    def settled(self) -> list[dict[str, Any]]:
        """Its phases once every returned call is among them and nothing more arrives."""

        def look() -> list[dict[str, Any]]:
            phases = self.phases()
            return phases if sum(phase["state"] == "ok" for phase in phases) >= self.lines() else []

        until(60, look, f"{self.lines()} recorded phases are stored")
        last, since = self.phases(), time.monotonic()
        while time.monotonic() - since < 2:
            now = self.phases()
            if len(now) != len(last):
                last, since = now, time.monotonic()
        return last
