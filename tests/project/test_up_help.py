"""`up --help` says of every option what it does, and what holds without it."""

import pytest

from dashboard.project.management.commands.up import Command

OWN = ("--port", "--host", "--public-url", "--data", "--ready-file", "--demo", "--demo-args")


@pytest.mark.parametrize("option", OWN)
def test_every_option_is_explained_with_its_default(option: str) -> None:
    (action,) = [each for each in Command().create_parser("manage.py", "up")._actions if option in each.option_strings]
    assert action.help
    assert option in {"--ready-file", "--demo"} or "(default: " in action.help
