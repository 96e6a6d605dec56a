"""What open pages are told of incidents that open."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.models import Alert
from dashboard.alerts.tasks import tell
from dashboard.teams.models import Membership, Role
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.telling import SLOW, judged, once, slow_run

pytestmark = pytest.mark.django_db
PAGE = "/alerts/news/"


def asked(browser: Client, since: object = None) -> dict[str, Any]:
    answer = browser.get(PAGE if since is None else f"{PAGE}?since={since}")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_who_asks_for_the_first_time_is_told_the_keys_of_the_last_seconds_alone(cast: Cast) -> None:
    judged(slow_run(cast.team), SLOW)
    tell()
    assert len(asked(browser_of(cast.viewer))["opened"]) == 1
    Alert.objects.update(told_at=timezone.now() - timedelta(seconds=11))
    assert asked(browser_of(cast.viewer))["opened"] == []


def test_what_opened_since_is_told_with_the_same_key_each_time_and_to_no_other_team(cast: Cast) -> None:
    since = asked(browser_of(cast.viewer))["now"]
    run = slow_run(cast.team)
    judged(run, SLOW)
    tell()
    (first,) = asked(browser_of(cast.viewer), since)["opened"]
    alert = Alert.objects.get()
    assert (first["title"], first["url"], first["page"]) == (
        "slow encode on host-07 · vit-b16", f"/alerts/{alert.pk}/", False,
    )  # fmt: skip
    assert asked(browser_of(cast.viewer), since)["opened"] == [first]
    assert asked(browser_of(cast.stranger), since)["opened"] == []
    assert Client().get(PAGE).status_code == 403
    Alert.objects.update(told_at=timezone.now() - timedelta(minutes=1))
    assert asked(browser_of(cast.viewer), int(timezone.now().timestamp() * 1000))["opened"] == []


def test_the_team_of_a_page_counts_and_only_where_the_person_is_in_it(cast: Cast) -> None:
    judged(slow_run(cast.team), SLOW)
    tell()
    Membership.objects.create(team=cast.other_team, user=cast.member, role=Role.MEMBER)
    browser = browser_of(cast.member)
    assert len(browser.get(f"{PAGE}?team={cast.team.slug}").json()["opened"]) == 1
    assert browser.get(f"{PAGE}?team={cast.other_team.slug}").json()["opened"] == []
    for team in ("no-such", "", "%00", "x" * 300):
        assert browser.get(f"{PAGE}?team={team}").status_code == 404
    assert browser_of(cast.stranger).get(f"{PAGE}?team={cast.team.slug}").status_code == 404
    assert Client().get(f"{PAGE}?team={cast.team.slug}").status_code == 403
    assert f'data-news="/alerts/news/?team={cast.team.slug}"' in browser_of(cast.viewer).get("/").content.decode()


def test_what_is_over_or_looked_after_is_no_news(cast: Cast) -> None:
    since = asked(browser_of(cast.viewer))["now"]
    once(slow_run(cast.team), 4)
    tell()
    assert asked(browser_of(cast.viewer), since)["opened"] == []
    Alert.objects.update(state="acknowledged")
    assert asked(browser_of(cast.viewer), since)["opened"] == []


@pytest.mark.parametrize("since", ["", "x", "-1", "1e3", "9" * 400, "%00", "٣", "999999999999999", "0"])
def test_a_time_that_is_none_breaks_nothing(cast: Cast, since: str) -> None:
    judged(slow_run(cast.team), SLOW)
    tell()
    Alert.objects.update(told_at=timezone.now() - timedelta(hours=1))
    assert asked(browser_of(cast.viewer), since)["opened"] == []


def test_somebody_without_a_team_hears_of_nothing(cast: Cast) -> None:
    cast.viewer.memberships.all().delete()
    answer = browser_of(cast.viewer).get(PAGE)
    assert (answer.status_code, answer.json()["opened"]) == (200, [])
