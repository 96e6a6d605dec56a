"""Servers as a shipper may meet them, in a process of their own: one that takes all, and four that do not.

Run as `python -m tests.bench.doors`: prints their ports as JSON and serves until its standard input closes.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.agents.collector import collecting

REPOSITORY = Path(__file__).resolve().parents[2]
UP = "up"
HARMFUL = ("black-holed", "refusing", "slow", "garbage")


def swallow(connection: socket.socket) -> None:
    """Accepts, and reads and answers nothing for as long as it lasts."""
    threading.Event().wait()
    connection.close()


def trickle(connection: socket.socket) -> None:
    """Answers one byte a second, and never all of them."""
    with contextlib.suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b" " * 1_000_000:
            connection.sendall(bytes([byte]))
            time.sleep(1)
    connection.close()


def babble(connection: socket.socket) -> None:
    """Answers what is no HTTP."""
    with contextlib.suppress(OSError):
        connection.recv(1 << 16)
        connection.sendall(os.urandom(4096))
    connection.close()


def door(behaviour: Callable[[socket.socket], None]) -> int:
    """The port of a server that treats each connection so, in a thread of its own."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=behaviour, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listening.getsockname()[1])


@contextlib.contextmanager
def doors() -> Iterator[dict[str, str]]:
    """The address of each server, in a process of their own that ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.doors"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "agents" / "src")))},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ports = json.loads(process.stdout.readline())
        yield {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def main() -> None:
    refusing = socket.socket()
    refusing.bind(("127.0.0.1", 0))  # and nobody listens
    with collecting() as collector:
        ports = {"up": collector.port, "black-holed": door(swallow), "slow": door(trickle), "garbage": door(babble)}
        print(json.dumps({**ports, "refusing": refusing.getsockname()[1]}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
