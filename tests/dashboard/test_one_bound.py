"""A figure that needs a look in one place needs it in every other."""

import re

import pytest

from ingest.queries.run_list import MUCH_WAITING
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_round, make_run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("beside", "amber"), [(-0.01, False), (0.0, True)])
def test_gpu_waiting_turns_amber_at_one_share_in_the_list_and_on_the_live_page(
    cast: Cast, beside: float, amber: bool
) -> None:
    run = make_run(cast.team, "run6")
    add_round(run, 0, 50.0, gpu_waiting_share=MUCH_WAITING + beside)
    browser = browser_of(cast.owner)
    assert bool(re.search(r'class="number much"', browser.get("/").content.decode())) == amber
    (told,) = re.findall(r'data-waiting-warn="([^"]*)"', browser.get(f"/runs/{run.pk}/").content.decode())
    assert float(told) == MUCH_WAITING
