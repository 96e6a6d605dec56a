"""The page of a team's tokens: who made each, for how long, and that nothing of it crosses teams."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.teams import tokens
from dashboard.teams.models import AuditRecord
from ingest.api import auth
from ingest.models import Token
from tests.cast import Cast, browser_of

pytestmark = pytest.mark.django_db
FORM = {"name": "nightly", "scopes": ["read"], "days": "30"}


def test_a_token_is_made_with_an_end_and_shown_once(cast: Cast) -> None:
    client = browser_of(cast.member)
    page = client.post("/team/tokens/", FORM)
    made = re.search(r'id="token">(rw_[\w-]{43})<', page.content.decode())
    assert made
    assert "no-store" in page["Cache-Control"]
    stored = Token.objects.get()
    assert (stored.team, stored.scopes, stored.created_by) == (cast.team, ["read"], cast.member)
    assert stored.expires_at
    assert timedelta(days=29, hours=23) < stored.expires_at - timezone.now() <= timedelta(days=30)
    again = client.get("/team/tokens/").content.decode()
    assert made[1] not in again
    for shown in (stored.prefix, "nightly", "by <bdi>mika</bdi>", "never"):
        assert shown in again


def test_one_without_an_end_is_asked_for(cast: Cast) -> None:
    assert browser_of(cast.owner).get("/team/tokens/").context["form"]["days"].value() == "365"
    browser_of(cast.owner).post("/team/tokens/", FORM | {"days": ""})
    assert Token.objects.get().expires_at is None


@pytest.mark.parametrize("wrong", [{"days": "3000000"}, {"days": "-1"}, {"scopes": ["root"]}, {"name": "\u200b"}])
def test_what_is_no_token_is_not_made(cast: Cast, wrong: dict[str, object]) -> None:
    page = browser_of(cast.owner).post("/team/tokens/", FORM | wrong)
    assert b"errorlist" in page.content
    assert not Token.objects.exists()


def test_viewers_look_strangers_and_visitors_see_nothing(cast: Cast) -> None:
    tokens.issue(cast.team, "hosts", ["ingest"])
    viewer, stranger = browser_of(cast.viewer), browser_of(cast.stranger)
    page = viewer.get("/team/tokens/").content
    assert b"hosts" in page
    assert b"Revoke" not in page
    assert viewer.post("/team/tokens/", FORM).status_code == 403
    assert b"hosts" not in stranger.get("/team/tokens/").content
    stranger.post("/team/tokens/", FORM)
    assert Token.objects.get(name="nightly").team == cast.other_team
    assert Client().post("/team/tokens/", FORM)["Location"].startswith("/accounts/login/")


def test_a_form_of_another_team_makes_nothing(cast: Cast) -> None:
    browser_of(cast.owner).post("/team/tokens/", FORM | {"team": "other-team"})
    assert not Token.objects.exists()


def test_revoked_and_ended_ones_are_shown_as_such(cast: Cast) -> None:
    for name in ("revoked one", "ended one"):
        tokens.issue(cast.team, name, ["read"])
    Token.objects.filter(name="ended one").update(expires_at=timezone.now())
    client = browser_of(cast.owner)
    client.post(f"/connect/tokens/{Token.objects.get(name='revoked one').pk}/revoke/")
    page = client.get("/team/tokens/").content.decode()
    assert page.index("ended</span>") > page.index("ended one")
    assert page.rindex("revoked one") > page.index("<summary>Revoked</summary>")


def test_making_and_revoking_is_written_down_without_the_secret(cast: Cast) -> None:
    client = browser_of(cast.member)
    text = client.post("/team/tokens/", FORM).context["token_text"]
    client.post(f"/connect/tokens/{Token.objects.get().pk}/revoke/")
    made, revoked = AuditRecord.objects.filter(team=cast.team.pk, area="token").order_by("pk")
    assert (made.who, revoked.who) == ("mika", "mika")
    assert made.did.startswith(f"made the token “nightly” ({text[:10]}…) for read, until 20")
    assert revoked.did == f"revoked the token “nightly” ({text[:10]}…)"
    assert text not in made.did + revoked.did


def test_a_token_outlives_who_made_it(cast: Cast) -> None:
    text = browser_of(cast.member).post("/team/tokens/", FORM).context["token_text"]
    cast.member.delete()
    assert Token.objects.get().created_by is None
    assert auth.authenticate(f"Bearer {text}")
