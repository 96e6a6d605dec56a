"""The page that connects a run: tokens are shown once, revoked at will, and belong to one team."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.teams import tokens
from ingest.models import Token
from tests.cast import Cast, browser_of

pytestmark = pytest.mark.django_db
FORM = {"name": "hosts", "scopes": ["ingest"]}


def test_a_token_is_shown_once_with_what_to_paste(cast: Cast) -> None:
    client = browser_of(cast.member)
    answer = client.post("/connect/", FORM)
    made = re.search(r'id="token">(rw_[\w-]{43})<', answer.content.decode())
    assert made
    assert f"ROUNDWATCH_TOKEN={made[1]}" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    stored = Token.objects.get()
    assert (stored.team, stored.name, stored.scopes) == (cast.team, "hosts", ["ingest"])
    again = client.get("/connect/").content.decode()
    assert made[1] not in again
    assert stored.prefix in again


def test_a_token_that_may_not_send_is_neither_pasted_nor_waited_for(cast: Cast) -> None:
    client = browser_of(cast.member)
    html = client.post("/connect/", {"name": "scripts", "scopes": ["read"]}).content.decode()
    assert re.search(r'id="token">rw_[\w-]{43}<', html)
    assert "ROUNDWATCH_TOKEN=rw_…" in html
    assert "it may not send runs (ingest)" in html
    assert "Waiting for the first record" not in html
    assert "waits_for_first_record" not in client.session


@pytest.mark.parametrize("form", [{"name": "x"}, {"name": "", "scopes": ["ingest"]}, {"name": "x", "scopes": ["root"]}])
def test_a_token_without_name_or_known_scope_is_not_made(cast: Cast, form: dict[str, object]) -> None:
    answer = browser_of(cast.owner).post("/connect/", form)
    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    assert not Token.objects.exists()


def test_viewers_look_but_make_and_revoke_nothing(cast: Cast) -> None:
    tokens.issue(cast.team, "hosts", ["ingest"])
    client = browser_of(cast.viewer)
    page = client.get("/connect/")
    assert b"Ask an owner or member" in page.content
    assert b"Revoke" not in page.content
    assert client.post("/connect/", FORM).status_code == 403
    assert client.post(f"/connect/tokens/{Token.objects.get().pk}/revoke/").status_code == 403
    assert Token.objects.get().revoked_at is None


def test_a_revoked_token_is_worthless_and_gone_from_the_list(cast: Cast) -> None:
    text = tokens.issue(cast.team, "hosts", tokens.SCOPES)
    client = browser_of(cast.owner)
    answer = client.post(f"/connect/tokens/{Token.objects.get().pk}/revoke/", follow=True)
    assert "“hosts” no longer works" in answer.content.decode()
    assert not answer.context["tokens"]
    assert not tokens.valid(cast.team, text)


def test_revoking_asks_first_and_says_what_stops(cast: Cast) -> None:
    text = tokens.issue(cast.team, "hosts", tokens.SCOPES)
    client = browser_of(cast.owner)
    path = f"/connect/tokens/{Token.objects.get().pk}/revoke/"
    assert path in client.get("/connect/").content.decode()
    asked = client.get(path).content.decode()
    assert "Trainings that use it stop reporting" in asked
    assert "own agent" not in asked
    assert tokens.valid(cast.team, text)
    assert browser_of(cast.viewer).get(path).status_code == 403
    assert browser_of(cast.stranger).get(path).status_code == 404


def test_the_installations_own_token_is_marked(cast: Cast, settings: Settings, tmp_path: Path) -> None:
    tokens.issue(cast.team, "hosts", ["ingest"])
    other = Token.objects.get().pk
    settings.DATA = SimpleNamespace(token=tmp_path / "token")
    settings.DATA.token.write_text(tokens.issue(cast.team, "this installation", tokens.SCOPES) + "\n")
    own = Token.objects.exclude(pk=other).get().pk
    client = browser_of(cast.owner)
    assert client.get("/connect/").content.count(b"this server's own") == 1
    asked = client.get(f"/connect/tokens/{own}/revoke/").content
    assert b"own agent" in asked
    assert b"the demo" in asked
    assert b"own agent" not in client.get(f"/connect/tokens/{other}/revoke/").content
    assert b"this server's own" not in browser_of(cast.stranger).get("/connect/").content


def copied(page: str) -> list[str]:
    return re.findall(r'data-copy="(\w+)"', page)


def test_every_block_can_be_copied_and_the_rest_docs_are_linked(cast: Cast) -> None:
    page = browser_of(cast.member).post("/connect/", FORM).content.decode()
    blocks = ["token", "install", "variables", "plain", "torchrun", "lightning", "transformers"]
    assert sorted(copied(page)) == sorted(re.findall(r'<code id="(\w+)"', page)) == sorted(blocks)
    assert page.count('href="/api/v1/docs"') == 2


def test_without_a_token_to_show_there_is_nothing_to_copy_but_a_form_above_it(cast: Cast) -> None:
    tokens.issue(cast.team, "of another day", ["ingest"])
    page = browser_of(cast.member).get("/connect/").content.decode()
    assert copied(page) == ["install", "plain", "torchrun", "lightning", "transformers"]
    assert '<details class="make-token" open>' in page
    assert page.index("Make token") < page.index('id="variables"')


def test_it_says_how_a_second_person_comes_in(cast: Cast) -> None:
    page = browser_of(cast.viewer).get("/connect/").content.decode()
    assert "add_member" in page
    assert "login_url --user" in page


def test_another_teams_token_can_be_neither_seen_nor_revoked(cast: Cast) -> None:
    tokens.issue(cast.team, "hosts", ["ingest"])
    client = browser_of(cast.stranger)
    assert b"hosts</bdi>" not in client.get("/connect/").content
    assert client.post(f"/connect/tokens/{Token.objects.get().pk}/revoke/").status_code == 404
    assert client.post("/connect/tokens/999999/revoke/").status_code == 404
    assert Token.objects.get().revoked_at is None


def test_a_visitor_makes_no_token(cast: Cast) -> None:
    assert Client().post("/connect/", FORM)["Location"].startswith("/accounts/login/")
    assert not Token.objects.exists()


def test_markup_in_a_tokens_name_is_text(cast: Cast) -> None:
    page = browser_of(cast.owner).post("/connect/", {"name": "<script>alert(1)</script>", "scopes": ["read"]})
    assert b"<script>alert" not in page.content
    assert b"&lt;script&gt;alert(1)" in page.content


def test_an_address_of_this_machine_alone_is_told_to_be_one(cast: Cast, settings: Settings) -> None:
    page = browser_of(cast.owner).get("/connect/")
    assert "Only this machine reaches that address" in page.content.decode()
    settings.PUBLIC_URL = "https://roundwatch.example.org"
    page = browser_of(cast.owner).get("/connect/")
    assert "Only this machine" not in page.content.decode()
