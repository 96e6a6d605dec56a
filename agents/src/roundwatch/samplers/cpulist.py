"""Lists of CPUs as the kernel writes them."""


def cpus(text: str) -> list[int]:
    """The CPUs that a list such as "0-3,8" names; none for an empty one. Raises ValueError."""
    found: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    return found
