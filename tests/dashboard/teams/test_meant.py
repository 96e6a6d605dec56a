"""Forms of the current team's pages, sent once another tab has chosen another team."""

import re

import pytest

from dashboard.alerts.models import Channel, Rule
from dashboard.teams.models import Membership, Role, Team
from ingest.models import ThresholdChange, Token
from tests.cast import Cast, browser_of

pytestmark = pytest.mark.django_db
FORMS = {
    "/thresholds/": {"straggler.ratio": "3"},
    "/alerts/rules/": {"name": "mine", "enabled": "on"},
    "/connect/": {"name": "mine", "scopes": "ingest"},
    "/alerts/channels/": {"name": "hook", "way": "webhook", "to": "https://hooks.example.org/", "enabled": "on"},
}


def saved(team: Team) -> bool:
    named = (Rule.objects.filter(name="mine"), Token.objects.filter(name="mine"))
    rows = (ThresholdChange.objects.all(), Channel.objects.all(), *named)
    return any(each.filter(team=team).exists() for each in rows)


@pytest.mark.parametrize("path", FORMS)
def test_a_form_is_saved_for_the_team_of_its_page_or_not_at_all(cast: Cast, path: str) -> None:
    Membership.objects.create(team=cast.other_team, user=cast.member, role=Role.MEMBER)
    browser = browser_of(cast.member)
    browser.post(f"/teams/{cast.team.slug}/")
    (team,) = re.findall(r'name="team" value="([^"]*)"', browser.get(path).content.decode())
    browser.post(f"/teams/{cast.other_team.slug}/")
    text = browser.post(path, {**FORMS[path], "team": team}, follow=True).content.decode()
    assert "Nothing was saved" in text
    assert not saved(cast.team)
    assert not saved(cast.other_team)
    browser.post(f"/teams/{cast.team.slug}/")
    assert "Nothing was saved" not in browser.post(path, {**FORMS[path], "team": team}, follow=True).content.decode()
    assert saved(cast.team)
    assert not saved(cast.other_team)
