"""How many bodies, and how much of them, may be on their way."""

import uuid

import pytest

from ingest.api.gate import Gate
from ingest.store.arrivals import Fault

ONE, OTHER = (uuid.UUID(int=number) for number in (1, 2))


def test_bodies_on_their_way_may_fill_half_of_the_memory_for_one_team() -> None:
    gate = Gate(most=8, most_bytes=1_000)
    with gate.passing(ONE) as took, gate.passing(OTHER) as others:
        took(500)
        with pytest.raises(Fault) as refused:
            took(1)
        others(500)
        with pytest.raises(Fault) as full:
            others(1)
    assert (refused.value.status, full.value.status) == (429, 503)
    assert not len(gate)
    with gate.passing(ONE) as took:
        took(500)
