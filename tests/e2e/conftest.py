"""What the tests of whole pages share."""

from tests.e2e.onlookers import browser, people

__all__ = ["browser", "people"]
