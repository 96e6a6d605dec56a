"""What init refuses, once and clearly, and what importing and disabling cost: nothing."""

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import roundwatch
from roundwatch import folders
from roundwatch.attributes import attributes, configuration
from tests.agents.conftest import SOURCES, Site


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ROUNDWATCH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ROUNDWATCH_SPOOL", str(tmp_path / "spool"))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"project": ""}, "project"),
        ({"project": "x" * 129}, "project"),
        ({"project": 5}, "project"),
        ({"name": " "}, "name"),
        ({"run_id": "x" * 129}, "run_id"),
        ({"role": "spectator"}, "trainer, coordinator"),
        ({"rank": -1}, "rank"),
        ({"rank": "3"}, "rank"),
        ({"rank": 1 << 31}, "rank"),
        ({"worker": "a\0b"}, "worker"),
        ({"group": "a\ud800"}, "group"),
        ({"project": "a\0"}, "project"),
        ({"rounds": 1 << 31}, "rounds"),
        ({"model_bytes": 1 << 63}, "model_bytes"),
        ({"flops_per_item": 1e300}, "flops_per_item"),
        ({"tags": ["a"] * 101}, "tags"),
        ({"rounds": -1}, "rounds"),
        ({"rounds": 1.5}, "rounds"),
        ({"model_bytes": True}, "model_bytes"),
        ({"flops_per_item": float("nan")}, "flops_per_item"),
        ({"tags": [""]}, "tags"),
        ({"mode": "sometimes"}, "online, offline, disabled"),
        ({"config": [1]}, "mapping"),
        ({"config": {"model": object()}}, r"config\['model'\] is a object"),
        ({"config": {"a": {"b": [1, lambda: 0]}}}, r"config\['a'\]\['b'\]\[1\] is a function"),
        ({"config": {(1, 2): 3}}, "key of type tuple"),
        ({"config": {"text": "x" * 300_000}}, "bytes of JSON"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], word: str) -> None:
    with pytest.raises((ValueError, TypeError), match=word):
        roundwatch.init(**{"project": "p", "mode": "offline", **given})


@pytest.mark.parametrize(
    "url",
    ["host", "ftp://host", "http://", "http://host:port", "http://host:99999", "http://host?a=1", "http://host#a"],
)
def test_a_bad_url_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDWATCH_URL", url)
    with pytest.raises(ValueError, match="ROUNDWATCH_URL must look like"):
        roundwatch.init("p")


def test_a_url_with_a_password_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDWATCH_URL", "https://user:s3cret@host")
    with pytest.raises(ValueError, match="ROUNDWATCH_TOKEN") as refusal:
        roundwatch.init("p")
    assert "s3cret" not in str(refusal.value)


def test_a_token_that_would_break_a_header_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDWATCH_URL", "https://host")
    monkeypatch.setenv("ROUNDWATCH_TOKEN", "a\r\nX: b")
    with pytest.raises(ValueError, match="ROUNDWATCH_TOKEN"):
        roundwatch.init("p")


IN_ONE_LINE = """
import sys, roundwatch
from roundwatch import launch
launch.Launcher._start_where_none_is = lambda _: None
roundwatch.init("p", run_id="r &1", rank=int(sys.argv[1])).finish()
"""


@pytest.mark.parametrize(
    ("rank", "changed", "says"),
    [
        ("0", {}, "roundwatch: recording run r &1: http://127.0.0.1:9/?q=r%20%261\n"),
        ("1", {}, ""),
        ("0", {"ROUNDWATCH_MODE": "disabled"}, ""),
        ("1", {"ROUNDWATCH_TOKEN": ""}, "ROUNDWATCH_TOKEN is not set"),
    ],
)
def test_the_first_rank_says_where_it_records_to(tmp_path: Path, rank: str, changed: dict[str, str], says: str) -> None:
    site = Site(tmp_path / "spool", "http://127.0.0.1:9")
    command = [sys.executable, "-c", IN_ONE_LINE, rank]
    try:
        told = subprocess.run(command, env=site.environment | changed, capture_output=True, text=True, check=True)
    finally:
        site.close()
    assert says in told.stderr if "TOKEN" in says else told.stderr == says


def test_a_spool_on_a_network_filesystem_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "filesystem", lambda _: "nfs4")
    with pytest.raises(ValueError, match="network filesystem"):
        roundwatch.init("p", mode="offline")


def test_a_home_on_a_network_filesystem_is_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(Path.home())
    monkeypatch.setattr(folders, "filesystem", lambda path: "nfs" if str(path).startswith(home) else "ext4")
    assert not str(folders.spool()).startswith(home)


def test_disabled_every_call_does_nothing(tmp_path: Path) -> None:
    run = roundwatch.init("p", mode="disabled", config={"a": object()})
    with run.round(1), run.phase("train", nbytes=1) as phase:
        phase.set(x=1)
        run.progress(1, 2)
    for _ in run.steps([1, 2]):
        run.log({"a": 1})
    run.next_round()
    run.event("x", y=1)
    run.record_phase("x", 1, 2, round=1)
    run.record_sample("x", 1.0, 1)
    run.finish()
    assert not list(tmp_path.iterdir())


def test_the_environment_may_disable_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDWATCH_MODE", "disabled")
    roundwatch.init("p").finish()
    assert not list(tmp_path.iterdir())


def test_a_spool_that_cannot_be_written_does_not_stop_a_training(offline: Site, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file in the way")
    output = offline.run("""
import logging, roundwatch
logging.basicConfig(format="%(message)s", stream=__import__("sys").stdout)
run = roundwatch.init("p", mode="offline")
with run.round(0), run.phase("train"):
    print("trained")
""")
    assert "nothing is recorded" in output
    assert output.endswith("trained\n")


AS_A_STRANGER = """
import os, shutil
import roundwatch
from roundwatch import folders, launch
roundwatch.init
launch.Launcher._start_where_none_is = lambda _: None
if os.getuid() == 0:
    folders.OURS = "roundwatch-54321"
    os.setgroups([])
    os.setgid(54321)
    os.setuid(54321)  # a user that no table of users has
run = roundwatch.init("p", mode="offline")
with run.round(0):
    pass
print(run._ring.silent, folders.spool())
run.finish()
shutil.rmtree(folders.tmpfs() / folders.OURS)
"""


@pytest.mark.parametrize("known", [True, False])
def test_a_home_that_is_unknown_or_may_not_be_seen_does_not_stop_a_training(known: bool) -> None:
    if not known and os.getuid():
        pytest.skip("only root can be somebody whom no table of users has")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        closed = Path(folder, "closed")
        closed.mkdir(mode=0)
        Path(folder).chmod(0o777)
        environment = {"TMPDIR": folder, "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
        if known:
            environment["HOME"] = str(closed / "home")
        process = subprocess.run(
            [sys.executable, "-c", AS_A_STRANGER], env=environment, capture_output=True, text=True, check=False
        )
        ours = folders.OURS if os.getuid() else "roundwatch-54321"
        spool = f"{folder}/{ours}/spool"
        assert process.stderr == f"roundwatch: recording offline to {spool} (`roundwatch sync` sends it)\n"
        assert process.stdout == f"False {spool}\n"


def test_importing_loads_no_network_and_no_numbers() -> None:
    code = "import sys, roundwatch; roundwatch.init; print(*sys.modules)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    modules = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {
        *(
            "http",
            "http.client",
            "ssl",
            "socketserver",
            "asyncio",
            "multiprocessing",
            "argparse",
            "email",
            "urllib.request",
        ),
        *("torch", "numpy", "pynvml", "pandas", "sqlite3", "tempfile", "uuid", "secrets"),
    }
    assert not heavy & set(modules)
    assert "roundwatch.run" in modules


def test_importing_alone_loads_nothing_of_ours() -> None:
    code = "import sys, roundwatch; print(*sys.modules)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    modules = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in modules if name.startswith("roundwatch")] == ["roundwatch"]


def test_a_configuration_is_taken_in_the_forms_that_people_have() -> None:
    @dataclasses.dataclass
    class Config:
        lr: float
        path: Path

    assert configuration(None) == {}
    assert configuration(Config(0.1, Path("a/b"))) == {"lr": 0.1, "path": "a/b"}
    assert configuration(argparse.Namespace(depth=12, on=True)) == {"depth": 12, "on": True}
    assert configuration({"n": np.int64(3), "x": np.float32(0.5), 7: (1, 2), "nan": float("nan"), "huge": 10**30}) == {
        "n": 3, "x": 0.5, "7": [1, 2], "nan": "nan", "huge": str(10**30),
    }  # fmt: skip
    knot: dict[str, Any] = {}
    knot["self"] = knot
    with pytest.raises(ValueError, match="contains itself"):
        configuration(knot)


def test_attributes_keep_numbers_and_tell_the_rest_as_text() -> None:
    given = {
        "n": np.int64(3),
        "a": [1, {"b": None}],
        "s": "ü",
        "f": 0.5,
        "inf": float("inf"),
        "o": Path("x"),
        "t": True,
    }
    assert attributes(given) == (b'{"n":3,"a":[1, {"b": null}],"s":"\\u00fc","f":0.5,"inf":"inf","o":"x","t":true}')
    assert attributes({"a\0": ["\ud800", "\N{GRINNING FACE}"]}) == b'{"a\\ufffd": ["\\ufffd", "\\ud83d\\ude00"]}'
    assert attributes({"n": 1 << 5_000}) == b'{"n":"a number of 5001 bits"}'
    assert b"larger than" in attributes({str(index): "x" * 1_000 for index in range(40)})


class Counting(list[int]):
    """A list that counts how many of its items were looked at."""

    seen = 0

    def __iter__(self) -> Iterator[int]:
        for item in super().__iter__():
            self.seen += 1
            yield item


def test_attributes_are_walked_no_further_than_they_may_be_long() -> None:
    many = Counting(range(1_000_000))
    assert b"more than 2000 items" in attributes({"a": many})
    assert many.seen <= 2_001
    knot: list[Any] = []
    knot += [knot, knot]
    assert b"more than 2000 items" in attributes({"a": knot})
    texts = ["x" * 1_024] * 1_000
    assert b"larger than" in attributes({"a": texts})
    assert attributes({"a": bytes(5_000)}) == b'{"a":"bytes of 5000 items"}'
    assert b"more than 2000 items" in attributes({"a": {str(index): index for index in range(5_000)}})
