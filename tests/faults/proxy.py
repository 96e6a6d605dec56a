"""A TCP proxy on loopback that passes, stalls or cuts what goes through it."""

import socket
import threading
from contextlib import suppress


class Proxy:
    """Forwards to `target_port`. `cut()` resets every connection and refuses new ones until `heal()`."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self._broken = threading.Event()
        self._closed = False
        self._pairs: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        self._broken.set()
        with self._lock:
            for end in self._pairs:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        self._broken.clear()

    def close(self) -> None:
        self._closed = True
        self.cut()
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self._broken.is_set():
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target_port), 5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._pairs |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._pairs -= {source}
        source.close()
