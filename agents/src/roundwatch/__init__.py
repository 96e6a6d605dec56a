"""Roundwatch's SDK: `run = roundwatch.init(project)`, then rounds and phases around what the training does."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundwatch.run import Run, init

__all__ = ["Run", "init"]


def __getattr__(name: str) -> Any:
    # Importing roundwatch must cost nothing: the server imports its wire, trainings import it before they need it.
    if name in __all__:
        from roundwatch import run  # noqa: PLC0415

        return getattr(run, name)
    raise AttributeError(f"module 'roundwatch' has no attribute {name!r}")
