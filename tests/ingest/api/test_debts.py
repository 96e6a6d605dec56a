"""What a team owes for what was read in vain."""

import uuid

import pytest

from ingest.api.debts import CREDIT_S, FORGIVEN, Debts
from ingest.store.arrivals import Fault

ONE, OTHER = (uuid.UUID(int=number) for number in (1, 2))


def test_a_team_that_owes_too_much_is_sent_away_until_it_is_forgiven() -> None:
    debts = Debts()
    debts.owe(ONE, CREDIT_S, now=0.0)
    debts.require_credit(ONE, now=0.0)
    debts.owe(ONE, 1.0, now=0.0)
    with pytest.raises(Fault) as refused:
        debts.require_credit(ONE, now=0.0)
    assert (refused.value.status, refused.value.retry_s) == (429, round(1 / FORGIVEN))
    debts.require_credit(OTHER, now=0.0)
    debts.require_credit(ONE, now=float(refused.value.retry_s))
