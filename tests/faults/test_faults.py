"""A short choice of faults, one after the other on one product: what `python -m tests.faults` does for ten minutes.

They are in an order: each leaves a product that is right again, and the last test accounts for every record of all.
"""

from collections.abc import Iterator

import pytest

from tests.faults.campaign import Campaign
from tests.faults.catalogue import FAULTS
from tests.faults.stage import staged

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


def test_every_chosen_fault_is_one_that_there_is() -> None:
    assert set(CHOICE) <= FAULTS.keys()
