"""What the C library has handed out and not got back.

Memory that is freed in the middle of its heap stays with the process, so that the kernel sees no fall.
"""

from collections.abc import Callable

# glibc's struct mallinfo2 (since 2.33), see mallinfo(3); all of them are bytes or counts as size_t.
_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


def reader() -> Callable[[], int] | None:
    """What tells the bytes in use, in the heaps and outside them; None with another C library or an older one."""
    try:
        import ctypes  # noqa: PLC0415 - loaded where it is wanted, not with the package

        class Info(ctypes.Structure):
            _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]

        # Keeps the interpreter, since it is called within a collection, when no other thread may run.
        ask = ctypes.PyDLL(None).mallinfo2
    except Exception:  # noqa: BLE001 - a Python without ctypes, or a library without the function
        return None
    ask.restype, ask.argtypes = Info, ()

    def read() -> int:
        info = ask()
        return int(info.uordblks + info.hblkhd)

    return read
