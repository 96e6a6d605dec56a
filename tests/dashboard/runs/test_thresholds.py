"""The pages of thresholds: who may set them, within which bounds, and what the pages say of them."""

import re
from collections.abc import Mapping

import pytest
from django.test import Client

from dashboard.alerts import message
from dashboard.alerts.models import Alert
from dashboard.alerts.tasks import tell
from ingest.detection.thresholds import SUBJECTS
from ingest.models import Finding, ThresholdChange
from ingest.queries import thresholds as queries
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.telling import SLOW, judged
from tests.dashboard.runs_of import make_run

pytestmark = pytest.mark.django_db
TEAM = "/thresholds/"


def text_of(browser: Client, path: str) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def post(browser: Client, path: str, values: Mapping[str, str], before: Mapping[str, str] | None = None) -> int:
    """Send the form with these values; `before` is what its page was made with."""
    initial = {f"initial-{key}": value for key, value in (before or {}).items()}
    return int(browser.post(path, {**values, **initial}).status_code)


def test_each_threshold_is_told_with_its_unit_default_meaning_and_bounds(cast: Cast) -> None:
    text = text_of(browser_of(cast.owner), TEAM)
    for subject in SUBJECTS:
        for one in subject.thresholds:
            assert one.meaning in text.replace("&#x27;", "'")
            assert f"default {one.words(one.usual)}" in text
            assert f"{one.least:g} to {one.words(one.most)}" in text


def test_members_set_the_teams_and_a_runs_shows_both(cast: Cast) -> None:
    run = make_run(cast.team)
    own = f"/runs/{run.pk}/thresholds/"
    assert post(browser_of(cast.member), TEAM, {"straggler.ratio": "2.5"}) == 302
    assert post(browser_of(cast.owner), own, {"straggler.ratio": "3", "memory.retained_s": ""}) == 302

    assert queries.of_run(run.pk).straggler.ratio == 3.0
    text = text_of(browser_of(cast.viewer), own)
    assert "default 1.5 × team 2.5 ×" in text
    assert "olga Ratio in one round: not set → 3 ×" in text
    assert "1 is set for it alone" in text
    assert "mika Ratio in one round: not set → 2.5 ×" in text_of(browser_of(cast.viewer), TEAM)


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_nobody_else_changes_anything(cast: Cast, who: str) -> None:
    run = make_run(cast.team)
    refused = 403 if who == "viewer" else 404
    browser = browser_of(getattr(cast, who))
    assert post(browser, f"/runs/{run.pk}/thresholds/", {"straggler.ratio": "3"}) == refused
    if who == "viewer":
        assert post(browser, TEAM, {"straggler.ratio": "3"}) == 403
        assert "Save" not in text_of(browser, TEAM)
    assert not ThresholdChange.objects.exists()


@pytest.mark.parametrize("value", ["1", "21", "nan", "inf", "-2", "1e400", "x", "\0", "9" * 5000])
def test_what_is_beyond_the_bounds_is_said_beside_its_field_and_nothing_is_changed(cast: Cast, value: str) -> None:
    answer = browser_of(cast.owner).post(TEAM, {"straggler.ratio": value, "straggler.least_z": "4"})
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "Nothing was changed" in text
    assert text.count("errorlist") == 1
    assert not ThresholdChange.objects.exists()


def test_a_number_of_things_is_whole(cast: Cast) -> None:
    for wrong in ("2.5", "2.00000000001", "1.9999999999"):
        answer = browser_of(cast.owner).post(TEAM, {"straggler.clean_rounds": wrong})
        assert answer.status_code == 200
        assert answer.content.decode().count("errorlist") == 1
    assert not ThresholdChange.objects.exists()
    assert post(browser_of(cast.owner), TEAM, {"straggler.clean_rounds": "2"}) == 302
    assert 'value="2"' in browser_of(cast.owner).get(TEAM).content.decode()


def test_two_who_edit_at_a_time_do_not_undo_each_other(cast: Cast) -> None:
    assert post(browser_of(cast.owner), TEAM, {"straggler.ratio": "2", "straggler.least_z": ""}) == 302
    # Whose page was made before sends the field of the other as it was there: empty.
    assert post(browser_of(cast.member), TEAM, {"straggler.ratio": "", "straggler.least_z": "4"}) == 302
    assert queries.set_for(cast.team.pk, None) == {"straggler.ratio": 2.0, "straggler.least_z": 4.0}

    assert post(browser_of(cast.member), TEAM, {"straggler.ratio": ""}, {"straggler.ratio": "2.0"}) == 302
    assert queries.set_for(cast.team.pk, None) == {"straggler.least_z": 4.0}


def test_an_alert_says_what_its_finding_was_judged_with(cast: Cast) -> None:
    run = make_run(cast.team)
    judged(run, SLOW)
    tell()
    alert = Alert.objects.get()
    assert "Judged with" not in text_of(browser_of(cast.viewer), f"/alerts/{alert.pk}/")
    words = "Ratio in one round: 3 ×, set for the run; the default is 1.5 ×"
    Finding.objects.update(evidence={**SLOW.evidence, "thresholds": [{"words": words}]})
    assert f"Judged with {words}" in text_of(browser_of(cast.viewer), f"/alerts/{alert.pk}/")
    assert f"Judged with: {words}" in message.content(alert, Finding.objects.get(), "opened")["text"]
