"""Shippers that should not be: two at once for one spool, and one of an older version."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from roundwatch import wire
from tests.e2e.product import until
from tests.faults.oracle import conserved
from tests.faults.stage import Stage

Times = dict[str, float]
GOLDEN = Path(__file__).resolve().parents[1] / "contract" / "golden"


def two_at_once(stage: Stage, rng: random.Random) -> Times:
    """The shipper of a training is killed, and two begin at the same moment."""
    one = stage.current(near=False)
    for pid in until(30, one.training.shippers, "the training has a shipper"):
        os.kill(pid, signal.SIGKILL)
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-m", "roundwatch.shipper", "--detach"], env=one.training.environment, check=True
        )
    until(30, one.training.shippers, "one of them serves")
    time.sleep(rng.uniform(1, 3))  # both are given the time to do harm
    serving = until(10, one.training.shippers, "one of them serves")
    until(10, lambda: len(one.training.shippers()) == 1, f"one of {serving} has left")
    return {}


def old_one(stage: Stage, rng: random.Random) -> Times:
    """A shipper as of version 1 of the wire sends what it recorded, in any order and more than once."""
    bodies = [json.loads(path.read_text()) for path in sorted(GOLDEN.glob("request-v1-*.json"))]
    assert bodies
    for body in rng.sample([*bodies, *bodies], 2 * len(bodies)):
        answer = _post(stage, body)
        assert {result["status"] for result in answer["results"]} == {"stored"}, answer
        assert not any(result["rejected"] for result in answer["results"]), answer
    for uid in {batch["stream"] for body in bodies for batch in body["batches"]}:
        broken = conserved(stage.database, "s.uid = %s", uid)
        assert not broken, broken
    return {}


def _post(stage: Stage, body: Any) -> Any:
    headers = {"Authorization": f"Bearer {stage.product.ready['token']}", "Content-Encoding": "gzip"}
    asked = urllib.request.Request(stage.product.url + wire.PATH, gzip.compress(json.dumps(body).encode()), headers)
    with urllib.request.urlopen(asked, timeout=20) as answered:
        return json.load(answered)
