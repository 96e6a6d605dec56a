"""A person's own account: name, address, and a second factor that signing in then asks for."""

import re

import pytest
from django.test import Client

from dashboard.teams import login_links
from dashboard.teams.models import AuditRecord, User
from tests.cast import PASSWORD, Cast, browser_of
from tests.dashboard.teams.codes import code

pytestmark = pytest.mark.django_db


def test_a_person_changes_name_and_address_and_it_is_written_down(cast: Cast) -> None:
    client = browser_of(cast.viewer)
    assert client.post("/account/", {"username": "vera.b", "email": "vb@example.org"}).status_code == 302
    cast.viewer.refresh_from_db()
    assert (cast.viewer.username, cast.viewer.email) == ("vera.b", "vb@example.org")
    record = AuditRecord.objects.filter(area="account").get()
    assert (record.team, record.who) == (cast.team.pk, "vera.b")
    assert "vera to vera.b" in record.did


@pytest.mark.parametrize(
    "wrong",
    [
        {"username": "olga"}, {"username": "OLGA"}, {"username": "ve ra"}, {"username": ""}, {"username": "a\u3164"},
        {"email": "olga@example.org"}, {"email": "OLGA@example.org"}, {"email": "nonsense"},
    ],
)  # fmt: skip
def test_what_is_taken_or_cannot_be_read_is_refused(cast: Cast, wrong: dict[str, str]) -> None:
    form = {"username": "vera", "email": "vera@example.org"} | wrong
    answer = browser_of(cast.viewer).post("/account/", form)
    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    cast.viewer.refresh_from_db()
    assert (cast.viewer.username, cast.viewer.email) == ("vera", "vera@example.org")
    assert not AuditRecord.objects.filter(area="account").exists()


def test_an_account_is_its_persons_alone(cast: Cast) -> None:
    assert Client().get("/account/")["Location"].startswith("/accounts/login/")
    for user in (cast.owner, cast.member, cast.viewer, cast.stranger):
        page = browser_of(user).get("/account/").content.decode()
        for other in (cast.owner, cast.member, cast.viewer, cast.stranger):
            assert (f"{other.username}@example.org" in page) == (user == other)


def test_the_teams_of_a_person_are_listed_and_no_others(cast: Cast) -> None:
    page = browser_of(cast.stranger).get("/account/").content
    assert b"Other team" in page
    assert b"Vision team" not in page


def test_all_other_browsers_of_a_person_are_signed_out_and_nobody_elses(cast: Cast) -> None:
    here, there, others = browser_of(cast.owner), browser_of(cast.owner), browser_of(cast.member)
    for _ in range(2):
        assert here.post("/account/", {"do": "end_others"})["Location"] == "/account/"
        assert here.get("/account/").status_code == 200
        assert there.get("/account/")["Location"].startswith("/accounts/login/")
        assert others.get("/account/").status_code == 200
        there = browser_of(User.objects.get(pk=cast.owner.pk))
        assert there.get("/account/").status_code == 200


def with_app(user: User) -> tuple[Client, str, list[str]]:
    """A browser of somebody who has just added an app: with its secret and the recovery codes."""
    client = Client()
    client.post("/accounts/login/", {"login": user.username, "password": PASSWORD})
    asked = client.get("/accounts/2fa/app/")
    assert asked.status_code == 302  # who it is, once more
    client.post(asked["Location"], {"password": PASSWORD})
    page = client.get("/accounts/2fa/app/").content.decode()
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", page)
    assert secret
    assert "data:image/svg+xml;base64," in page
    done = client.post("/accounts/2fa/app/", {"code": code(secret[1])})
    assert (done.status_code, done["Location"]) == (302, "/accounts/2fa/codes/")
    codes = re.findall(r"<li><code>(\w+)</code>", client.get("/accounts/2fa/codes/").content.decode())
    return client, secret[1], codes


def sign_in(user: User) -> Client:
    client = Client()
    answer = client.post("/accounts/login/", {"login": user.username, "password": PASSWORD})
    assert answer["Location"] == "/accounts/2fa/authenticate/"
    assert client.get("/")["Location"].startswith("/accounts/login/")
    return client


def test_with_an_app_the_password_alone_signs_nobody_in(cast: Cast) -> None:
    _, secret, codes = with_app(cast.owner)
    assert len(codes) == 10
    client = sign_in(cast.owner)
    wrong = client.post("/accounts/2fa/authenticate/", {"code": "000000" if code(secret) != "000000" else "111111"})
    assert wrong.status_code == 200
    assert b"Incorrect code" in wrong.content
    assert client.get("/").status_code == 302


def test_a_recovery_code_signs_in_once(cast: Cast) -> None:
    _, _, codes = with_app(cast.owner)
    client = sign_in(cast.owner)
    assert client.post("/accounts/2fa/authenticate/", {"code": codes[0]})["Location"] == "/"
    assert client.get("/").status_code == 200
    assert b"9 recovery codes left" in client.get("/account/").content
    again = sign_in(cast.owner)
    assert b"Incorrect code" in again.post("/accounts/2fa/authenticate/", {"code": codes[0]}).content


def test_the_apps_code_signs_in(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret, _ = with_app(cast.owner)
    client = sign_in(cast.owner)
    # The code that added the app is used up; the next one is half a minute away, on a clock that goes that far ahead.
    from allauth.mfa.totp.internal import auth

    ahead = auth.time.time() + 30
    monkeypatch.setattr(auth.time, "time", lambda: ahead)
    assert client.post("/accounts/2fa/authenticate/", {"code": code(secret, ahead)})["Location"] == "/"
    assert client.get("/").status_code == 200


@pytest.mark.django_db(transaction=True)  # allauth tells of it after the commit
def test_removing_the_app_is_written_down_and_frees_the_password(cast: Cast) -> None:
    client, _, _ = with_app(cast.member)
    assert client.get("/accounts/2fa/app/remove/").status_code == 200
    assert client.post("/accounts/2fa/app/remove/")["Location"] == "/accounts/2fa/"
    assert client.get("/accounts/2fa/")["Location"] == "/account/"
    answer = Client().post("/accounts/login/", {"login": "mika", "password": PASSWORD})
    assert answer["Location"] == "/"
    did = set(AuditRecord.objects.filter(team=cast.team.pk, who="mika", area="account").values_list("did", flat=True))
    assert {
        "added the authenticator app as a second factor", "removed the authenticator app as a second factor",
    } <= did  # fmt: skip


def test_somebody_without_a_password_is_told_to_set_one_first(cast: Cast) -> None:
    cast.owner.set_unusable_password()
    cast.owner.save()
    client = Client()
    client.get(login_links.make(cast.owner))
    page = client.get("/account/").content.decode()
    assert "set one first" in page
    assert "/accounts/2fa/app/" not in page
    assert client.get("/accounts/2fa/app/").status_code == 403


@pytest.mark.parametrize(
    "path", ["app/", "app/remove/", "codes/", "codes/new/", "codes/download/", "reauthenticate/", "authenticate/"]
)
def test_a_visitor_sees_nothing_of_second_factors(cast: Cast, path: str) -> None:
    answer = Client().get(f"/accounts/2fa/{path}")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/")
