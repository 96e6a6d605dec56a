"""Figures in words, the same for every subject."""


def duration(seconds: float) -> str:
    """Seconds as people read them: 17.8 s, 0.42 s, 35 ms."""
    if seconds < 0.1:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
