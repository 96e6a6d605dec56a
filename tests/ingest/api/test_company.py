"""Which teams have others beside them."""

import uuid

from ingest.api.company import Company

ONE, OTHER, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))


def test_a_team_is_alone_until_another_comes_and_again_once_that_is_silent() -> None:
    company = Company()
    assert not company.beside(ONE, 0.0)
    company.comes(ONE, 0.0)
    assert not company.beside(ONE, 0.1)
    company.comes(OTHER, 1.0)
    company.comes(ONE, 1.5)
    assert company.beside(ONE, 2.9)
    assert company.beside(OTHER, 2.9)
    assert not company.beside(ONE, 3.1)
    assert company.beside(OTHER, 3.1)


def test_whoever_came_last_counts_however_often_others_came_before() -> None:
    company = Company()
    company.comes(ONE, 0.0)
    company.comes(OTHER, 0.0)
    company.comes(THIRD, 1.0)
    company.comes(OTHER, 2.5)
    assert not company.beside(OTHER, 3.5)
    assert company.beside(THIRD, 3.5)


def test_who_has_left_is_forgotten() -> None:
    company = Company()
    for number in range(5_000):
        company.comes(uuid.UUID(int=number), number / 100)
    assert len(company._came) <= 201
