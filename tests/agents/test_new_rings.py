"""Rings that come while a shipper is at work are taken up, whenever they come."""

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from roundwatch import ring, wire
from roundwatch.spool import Spool
from roundwatch.writers import Writers

IDENTITY = json.dumps({"identity": asdict(wire.Identity(project="p", run="r")), "wall_ns": 1, "mono_ns": 1}).encode()


@pytest.mark.parametrize("stamp_stays", [False, True], ids=["later", "within the tick in which it was listed"])
def test_a_ring_is_taken_up_after_its_folder_was_listed(tmp_path: Path, *, stamp_stays: bool) -> None:
    folder, spool, name = tmp_path / "rings", Spool(tmp_path / "spool"), "a" * 32
    folder.mkdir()
    changed_ns = time.time_ns() - (0 if stamp_stays else 3_600_000_000_000)
    os.utime(folder, ns=(changed_ns, changed_ns))
    writers = Writers(folder, spool, "")
    assert (writers.look(), writers.look()) == (0, 0)
    made = ring.create(folder, name, IDENTITY)
    if stamp_stays:
        os.utime(folder, ns=(changed_ns, changed_ns))
    writers.look()
    assert list(spool.streams) == [name]
    made.close("finished")
