"""The log of a training: what is said there says who says it, among the lines of everything else that runs in it."""

import logging

_logger = logging.getLogger("roundwatch")


def warn(message: str, *arguments: object) -> None:
    """One warning, formatted as `logging` does; without a logging set up, Python prints the message and no name."""
    _logger.warning(f"roundwatch: {message}", *arguments)  # noqa: G004 - the message is ours, its arguments stay apart
