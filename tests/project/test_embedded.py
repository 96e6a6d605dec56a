"""The embedded servers start, keep what they promise to keep, and are gone when told or when we die."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from dashboard.project.datadir import DataFolder, Lock, Refused
from dashboard.project.embedded import Servers

REPOSITORY = Path(__file__).resolve().parents[2]


def until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.fixture
def root(open_folder: Path) -> Path:
    return open_folder


@pytest.fixture
def servers(root: Path) -> Iterator[Servers]:
    started = Servers(root)
    started.start()
    yield started
    started.stop()


def test_both_answer_and_postgres_commits_to_disk(servers: Servers) -> None:
    with psycopg.connect(servers.data.database_url) as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert connection.execute(f"SHOW {setting}").fetchone() == ("on",)
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    with redis.Redis.from_url(servers.data.redis_url) as client:
        assert client.ping()


def test_no_other_user_reaches_the_sockets(servers: Servers) -> None:
    assert servers.data.sockets.stat().st_mode & 0o077 == 0


def test_a_second_start_keeps_the_rows(servers: Servers) -> None:
    with psycopg.connect(servers.data.database_url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (7)")
    servers.stop()
    servers.start()
    with psycopg.connect(servers.data.database_url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


def test_a_stale_pid_file_with_a_living_stranger_does_not_stop_the_start(servers: Servers) -> None:
    servers.stop()
    pid_file = servers.data.postgres / "postmaster.pid"
    pid_file.write_text(f"{os.getppid()}\n{servers.data.postgres}\n0\n5432\n\n\n0 0\nready\n")
    servers.start()
    with psycopg.connect(servers.data.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_killing_whoever_started_them_leaves_no_server(root: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from dashboard.project.embedded import Servers\n"
        "s = Servers(Path(sys.argv[1])); s.start(); print(*[c.pid for c in s._children], flush=True); time.sleep(60)"
    )
    starter = subprocess.Popen([sys.executable, "-c", code, str(root)], cwd=REPOSITORY, stdout=subprocess.PIPE)
    with starter:
        assert starter.stdout is not None
        pids = [int(pid) for pid in starter.stdout.readline().split()]
        assert len(pids) == 2
        starter.send_signal(signal.SIGKILL)
    until(lambda: all(gone(pid) for pid in pids))
    lock = Lock(root / "postgres.lock")  # held by every process of that Postgres, backends too
    assert lock.take(within_s=10)
    lock.release()


def test_a_path_too_long_for_a_socket_is_refused(root: Path) -> None:
    with pytest.raises(Refused, match="too long"):
        DataFolder(root / ("x" * 100)).prepare()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as another user")
def test_root_is_refused_a_folder_that_the_service_user_cannot_reach(root: Path) -> None:
    private = root / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(Refused, match="cannot reach"):
        DataFolder(private / "data").prepare()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_small_disk_is_refused(root: Path) -> None:
    disk = root / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this container may not mount a tmpfs")
    try:
        with pytest.raises(Refused, match="MiB free"):
            DataFolder(disk / "data").prepare()
        (disk / "filler").write_bytes(b"\0" * 1024)
        with contextlib.suppress(OSError):
            (disk / "rest").write_bytes(b"\0" * 16 * 1024 * 1024)
        with pytest.raises(Refused, match="the disk is full"):
            DataFolder(disk / "full").prepare()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
