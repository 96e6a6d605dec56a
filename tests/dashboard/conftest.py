"""What the tests of the dashboard share; those that look at no page bring people of their own."""

from tests.e2e.onlookers import browser, people

__all__ = ["browser", "people"]
