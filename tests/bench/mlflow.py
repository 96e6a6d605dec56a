"""Metrics a second through our door and through MLflow's tracking server, both on the same embedded Postgres.

Run as `python -m tests.bench mlflow`. Four senders, each waiting for its answer before it sends again, post readings of
ten metrics: to MLflow by log-batch, a thousand in a request, whose most that is; to ours as batches of two thousand
samples, as in `ingest_rate`. MLflow runs in an environment of its own, made with pip on first use in the user's cache
folder; it is no part of the product. Where that cannot be made, this says so and ends.
"""

import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from roundwatch import wire
from tests.bench.ingest_rate import in_parallel, posting
from tests.bench.stage import Stage, stage
from tests.bench.table import Row, conditions, median_ratio, show
from tests.ingest.batches import SECOND, Recorder, request

SENDERS, REPETITIONS = 4, 5
METRICS, OUR_STEPS, THEIR_STEPS = 10, 200, 100  # in a request
OURS, THEIRS = 20, 5  # requests of each sender in one repetition
PACKAGES = ("mlflow", "psycopg2-binary")
ENVIRONMENT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundwatch/bench-mlflow"


def interpreter() -> Path:
    """The Python of MLflow's environment, made where it is missing; ends this program where it cannot be made."""
    python = ENVIRONMENT / "bin/python"
    if subprocess.run([python, "-c", "import mlflow, psycopg2"], check=False, capture_output=True).returncode == 0:
        return python
    print(f"installing {' and '.join(PACKAGES)} into {ENVIRONMENT}, which takes some minutes", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=False)
    if made.returncode == 0:
        made = subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=False)
    if made.returncode:
        raise SystemExit("skipped: MLflow cannot be installed here, so that there is nothing to compare with")
    return python


@contextlib.contextmanager
def tracking_server(place: Stage) -> Iterator[str]:
    """Where MLflow's server answers, with as many workers as it starts by itself, on a database beside ours."""
    with psycopg.connect(place.database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE mlflow")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = Path(os.environ["ROUNDWATCH_DATA"])
    arguments = ["--backend-store-uri", _store(place.database_url), "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--artifacts-destination", str(root / "artifacts")]
    with (root / "mlflow.log").open("wb") as log:
        server = subprocess.Popen(
            [interpreter(), "-m", "mlflow", "server", *arguments], stdout=log, stderr=log, cwd=root,
            env={"PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}", "HOME": str(root)},
            start_new_session=True,
        )  # fmt: skip
    try:
        _wait_for(port, server, root / "mlflow.log")
        yield f"127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, 15)
        server.wait(30)


def _store(url: str) -> str:
    """Our database's address as SQLAlchemy spells it, for the database beside it."""
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    user = parts.username or options.get("user", [""])[0]
    host = parts.hostname or options["host"][0]
    return f"postgresql+psycopg2://{user}@/mlflow?host={host}"


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"MLflow does not answer:\n{log.read_text()[-2000:]}")
        time.sleep(0.1)


def call(address: str, path: str, body: object) -> dict[str, dict[str, dict[str, str]]]:
    """MLflow's answer to one request."""
    connection = http.client.HTTPConnection(address)
    connection.request("POST", f"/api/2.0/mlflow/{path}", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    if response.status != 200:
        raise SystemExit(f"MLflow refuses {path}: {answer}")
    return dict(answer)


class Metrics:
    """What one sender tells of: the same readings for both servers."""

    def __init__(self, number: int, mlflow: str) -> None:
        """Begin a run with each."""
        self._began_ns = time.time_ns() - 3600 * SECOND
        self._recorder = Recorder(f"rank-{number}", run="metrics", began_ns=self._began_ns)
        begun = call(mlflow, "runs/create", {"experiment_id": "0", "start_time": self._began_ns // 10**6})
        self._run_id = begun["run"]["info"]["run_id"]
        self._step = 0

    def ours(self, count: int) -> list[bytes]:
        """`count` requests for our door."""
        bodies = []
        for _ in range(count):
            for step in range(self._step, self._step + OUR_STEPS):
                for metric in range(METRICS):
                    at = self._began_ns + step * 1_000_000
                    self._recorder.sample(f"metric-{metric}", step / 7, at, source="training")
            self._step += OUR_STEPS
            bodies.append(wire.encode(request(self._recorder.batch())))
        return bodies

    def theirs(self, count: int) -> list[bytes]:
        """`count` requests for MLflow."""
        bodies = []
        for _ in range(count):
            metrics = [
                {
                    "key": f"metric-{metric}",
                    "value": step / 7,
                    "timestamp": self._began_ns // 10**6 + step,
                    "step": step,
                }
                for step in range(self._step, self._step + THEIR_STEPS)
                for metric in range(METRICS)
            ]
            self._step += THEIR_STEPS
            bodies.append(json.dumps({"run_id": self._run_id, "metrics": metrics}).encode())
        return bodies


def main() -> None:
    """Measure both by turns, and print medians."""
    conditions("mlflow", f"{SENDERS} senders, {REPETITIONS} repetitions")
    interpreter()
    with stage() as place, tracking_server(place) as mlflow:
        senders = [Metrics(number, mlflow) for number in range(SENDERS)]
        own = {"Authorization": f"Bearer {place.token}", "Content-Encoding": "gzip"}
        foreign = {"Content-Type": "application/json"}

        def rates() -> tuple[float, float]:
            ours = [posting(urlsplit(place.url).netloc, wire.PATH, each.ours(OURS), own) for each in senders]
            fast = SENDERS * OURS * METRICS * OUR_STEPS / in_parallel(ours)
            path = "/api/2.0/mlflow/runs/log-batch"
            theirs = [posting(mlflow, path, each.theirs(THEIRS), foreign) for each in senders]
            return fast, SENDERS * THEIRS * METRICS * THEIR_STEPS / in_parallel(theirs)

        rates()  # fills caches
        pairs = [rates() for _ in range(REPETITIONS)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    show([Row(name="metrics a second", ours=ours, unit="/s", reference=theirs, ratio=median_ratio(pairs), least=50)])


if __name__ == "__main__":
    main()
