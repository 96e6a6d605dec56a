"""A short choice of faults, one after the other on one product: what `python -m tests.faults` does for ten minutes.

They are in an order: each leaves a product that is right again, and the last test accounts for every record of all.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.__main__ import main
from tests.faults.campaign import Campaign
from tests.faults.catalogue import FAULTS
from tests.faults.stage import staged

ROOT = Path(__file__).parents[2]
CHOICE = [
    "training killed",
    "shipper killed",
    "postgres killed",
    "valkey killed",
    "web killed",
    "killed, web: all written, before COMMIT",
    "killed, web: after COMMIT, before the answer",
    "killed, web: after COMMIT, before the feed",
    "killed with its parent, worker: facts loaded, nothing judged",
    "requests: lose",
    "requests: replay",
    "requests: late",
    "server clock jumps",
    "two shippers at once",
    "old shipper",
]


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    with staged(seed=1) as stage:
        yield Campaign(stage, CHOICE, seed=1)


@pytest.mark.parametrize("name", CHOICE)
def test_after_a_fault_all_is_stored_once_and_shown(campaign: Campaign, name: str) -> None:
    campaign.apply(name)


def test_after_all_of_them_it_is_known_what_became_of_each_record(campaign: Campaign) -> None:
    campaign.account()


def test_faults_are_listed_without_what_only_tests_need() -> None:
    listed = "import sys; sys.modules |= dict.fromkeys(('httpx', 'playwright', 'pytest', 'websockets'))\n"
    listed += "from tests.faults.__main__ import main; sys.argv[1:] = ['--list']; sys.exit(main())"
    assert subprocess.check_output([sys.executable, "-c", listed], cwd=ROOT, text=True).splitlines() == list(FAULTS)


def test_the_command_needs_nothing_that_pytest_sets_up() -> None:
    bare = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(
        [sys.executable, "-c", "import tests.faults.campaign, tests.faults.page, tests.faults.watched"],
        cwd=ROOT,
        env=bare,
        check=True,
    )


def test_a_choice_that_matches_no_fault_is_said_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["faults", "--only", "nosuch"])
    assert main() == 2
    assert "no fault's name holds 'nosuch'" in capsys.readouterr().err


def test_every_chosen_fault_is_one_that_there_is() -> None:
    assert set(CHOICE) <= FAULTS.keys()
