"""A TCP proxy on loopback that passes, delays, stalls, slices or cuts what goes through it."""

import socket
import struct
import threading
import time
from contextlib import suppress

CHUNK = 1 << 16


class Proxy:
    """Forwards to `target_port`. What is set holds for all connections, of now and later, until `heal()`.

    `delay_s` keeps each chunk back, `slice_bytes` sends so few at a time, `stall()` passes nothing on and closes
    nothing, `cut_after(n)` resets each connection that has carried so many more bytes towards the target.
    `cut()` resets every connection and refuses new ones.
    """

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = int(self.listener.getsockname()[1])
        self.delay_s = 0.0
        self.slice_bytes = 0
        self._most_bytes = 0
        self._broken = threading.Event()
        self._flowing = threading.Event()
        self._flowing.set()
        self._closed = False
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        self._broken.set()
        self.reset()

    def reset(self) -> None:
        """Resets every connection; new ones are served."""
        with self._lock:
            ends = list(self._ends)
        for end in ends:
            abort(end)

    def stall(self) -> None:
        self._flowing.clear()

    def cut_after(self, size: int) -> None:
        self._most_bytes = size
        self.reset()  # so that all count from now

    def heal(self) -> None:
        self.delay_s, self.slice_bytes, self._most_bytes = 0.0, 0, 0
        self._broken.clear()
        self._flowing.set()

    def close(self) -> None:
        self._closed = True
        self.heal()
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
            else:
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        """Carries one connection to its end."""
        far = self._connect()
        if far is None:
            near.close()
            return
        self._know(near, far)
        back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
        back.start()
        self._pump(near, far, counted=True)

    def _connect(self) -> socket.socket | None:
        try:
            far = socket.create_connection(("127.0.0.1", self.target_port), 5)
        except OSError:
            return None
        far.settimeout(None)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return far

    def _know(self, *ends: socket.socket) -> None:
        with self._lock:
            self._ends |= set(ends)

    def _forget(self, end: socket.socket) -> None:
        with self._lock:
            self._ends -= {end}
        end.close()

    def _pump(self, source: socket.socket, sink: socket.socket, *, counted: bool = False) -> None:
        carried = 0
        with suppress(OSError):
            while data := source.recv(CHUNK):
                carried += len(data) if counted else 0
                if self._most_bytes and carried > self._most_bytes:
                    self._pass(data[: self._most_bytes - carried], sink)
                    abort(source)
                    abort(sink)
                    break
                self._pass(data, sink)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._forget(source)

    def _pass(self, data: bytes, sink: socket.socket) -> None:
        if self.delay_s:
            time.sleep(self.delay_s)  # this is the fault itself, nobody waits for it
        position = 0
        while position < len(data):
            self._flowing.wait()
            end = position + self.slice_bytes if self.slice_bytes else len(data)
            sink.sendall(data[position:end])
            position = end


def abort(end: socket.socket) -> None:
    """Ends a connection with a reset instead of a goodbye."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RDWR)
