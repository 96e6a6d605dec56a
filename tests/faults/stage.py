"""What the fault command starts: a whole product, trainings, viewers and a prober, each behind something to harm it."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from dashboard.project.datadir import DataFolder
from tests.e2e.product import Product, alive, command_of, free_port, reachable_folder, until
from tests.faults.clocks import Clock
from tests.faults.oracle import Database
from tests.faults.postman import Postman
from tests.faults.prober import Prober
from tests.faults.proxy import Proxy

if TYPE_CHECKING:
    from tests.faults.watched import Watched

INSIDE = Path(__file__).with_name("inside")
NEEDLES = {
    "web": "dashboard.project.serve",
    "postgres": "/bin/postgres",
    "valkey": "valkey-server",
    "worker": "celery",
    "watcher": "manage.py watch",
    "agent": "roundwatch agent",
}


class Stage:
    """A product with two trainings: `far` ships through `wire` and `postman`, `near` is served by the product's agent.

    `window` is what viewers come through. Times are time.monotonic.
    """

    def __init__(self, folder: Path, *, seed: int = 0) -> None:
        self.folder = folder
        self.points = folder / "points"
        self.points.mkdir()
        self.clock, self.host_clock = Clock(folder, "server"), Clock(folder, "host")
        self.window = Proxy(free_port())
        self.wire = Proxy(self.window.target_port)
        self.postman = Postman(self.wire.port, seed=seed)
        self.product = self._product()
        self.cookie = ""
        self.watched: list[Watched] = []
        self.prober: Prober | None = None
        self.database = Database(DataFolder(self.product.data).database_url)
        self._runs = 0
        self._seed = seed

    def _product(self) -> Product:
        environment = {
            **self.clock.environment,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(INSIDE), os.environ.get("PYTHONPATH", "")])),
            "ROUNDWATCH_FAULTS": str(self.points),
        }
        public = f"http://127.0.0.1:{self.window.port}"
        return Product(
            self.folder / "data", "--public-url", public, port=self.window.target_port, environment=environment
        )

    def begin(self) -> None:
        from tests.faults.viewer import signed_in  # the faults can be listed without what viewers need

        self.product.wait_ready(180)
        self.cookie = signed_in(self.product.ready["login_url"])
        self.prober = Prober(self.product.url, self.product.ready["token"])
        for near in (False, True):
            self.train(near=near)

    def start_again(self) -> None:
        """Another life of the product, on the same data and port."""
        self.product.close()
        self.product = self._product()
        self.product.wait_ready(60)

    def train(self, *, near: bool) -> "Watched":
        """Begins a training, and a viewer of it."""
        from tests.faults.watched import Watched

        self._runs += 1
        name = f"{'near' if near else 'far'}-{self._runs}"
        begun = Watched(self, name, near=near, seed=self._seed + self._runs)
        self.watched.append(begun)
        return begun

    def current(self, *, near: bool) -> "Watched":
        """The training that runs now."""
        return next(one for one in reversed(self.watched) if one.near == near)

    def running(self) -> "list[Watched]":
        return [self.current(near=near) for near in (False, True)]

    # --- processes -----------------------------------------------------------------------------------------------

    def part(self, name: str, *, other_than: int = 0) -> int:
        """The process of a part that the supervisor started, once it runs."""

        def look() -> int:
            children = (pid for pid in self.product.processes() if _parent(pid) == self.product.process.pid)
            return next((pid for pid in children if pid != other_than and NEEDLES[name] in command_of(pid)), 0)

        return until(60, look, f"there is a {name}")

    def tree(self, name: str) -> list[int]:
        """The processes of a part, the one that the supervisor started first."""
        first = self.part(name)
        return [first, *(pid for pid in self.product.processes() if _descends(pid, first))]

    def kill(self, name: str) -> float:
        """SIGKILL; returns when."""
        victim = self.part(name)
        os.kill(victim, signal.SIGKILL)
        at = time.monotonic()
        until(10, lambda: not alive(victim), f"the {name} is gone")
        return at

    def answering(self) -> None:
        """Returns once the web server says that it is ready."""
        until(60, lambda: self.product.try_get("/api/v1/runs?limit=1"), "the server answers")

    def away(self) -> bool:
        """Whether Postgres does not answer."""
        try:
            self.database.one("SELECT 1")
        except psycopg.OperationalError:
            return True
        return False

    def heal(self) -> None:
        """Ends whatever is set for longer."""
        for proxy in (self.window, self.wire, self.postman):
            proxy.heal()
        for clock in (self.clock, self.host_clock):
            clock.set_ahead(0)
        for armed in self.points.iterdir():
            armed.unlink(missing_ok=True)

    def close(self) -> None:
        self.heal()
        if self.prober:
            self.prober.close()
        for one in self.watched:
            one.close()
        self.product.close()
        for proxy in (self.postman, self.wire, self.window):
            proxy.close()


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def _descends(pid: int, ancestor: int) -> bool:
    parent = _parent(pid)
    while parent > 1 and parent != ancestor:
        parent = _parent(parent)
    return parent == ancestor


@contextmanager
def staged(*, seed: int = 0, keep: bool = False) -> Iterator[Stage]:
    """A stage that has begun; closed whatever happens. `keep` leaves its folder where it was not closed in peace."""
    with reachable_folder() as folder:
        stage = Stage(folder, seed=seed)
        try:
            stage.begin()
            yield stage
        except BaseException:
            if keep:
                kept = Path(tempfile.mkdtemp(prefix="roundwatch-faults-", dir="/tmp"))
                for part in ("data/log", "points"):
                    shutil.copytree(folder / part, kept / part, dirs_exist_ok=True)
                for log in folder.glob("**/shipper.log"):
                    shutil.copy(log, kept / f"{log.parent.name}-shipper.log")
                print(f"The logs are kept in {kept}", flush=True)
            raise
        finally:
            stage.close()
