"""Which release of this package is installed."""

import importlib.metadata


def version() -> str:
    """The release, or "unknown" where the package was not installed but only put on the path."""
    try:
        return importlib.metadata.version("roundwatch")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
