"""A door of its own for a test: the real application under a real uvicorn, in a thread."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from ingest.api.asgi import Door


@contextlib.contextmanager
def serving(**options: Any) -> Iterator[tuple[str, Door]]:
    """The base URL and the door; everything has ended when the block does."""
    door = Door(**options)
    with running(door) as url, contextlib.closing(door):
        yield url, door


@contextlib.contextmanager
def running(app: Any, **options: Any) -> Iterator[str]:
    """The base URL of a uvicorn that serves an application, with more `options` of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none", **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while not server.started:
            assert time.monotonic() < deadline, "uvicorn does not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
