"""People sign in by a link that works once or by a password, and choose among their own teams."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.teams import login_links
from dashboard.teams.models import LoginLink, Membership, User
from tests.cast import PASSWORD, Cast, browser_of

pytestmark = pytest.mark.django_db


def signed_in_as(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


def test_a_link_signs_in_once_and_leads_to_the_runs(cast: Cast) -> None:
    path = login_links.make(cast.owner)
    first, second = Client(), Client()
    answer = first.get(path)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert signed_in_as(first) == str(cast.owner.pk)
    assert first.get("/").status_code == 200
    refused = second.get(path)
    assert refused.status_code == 410
    assert b"no longer works" in refused.content
    assert signed_in_as(second) is None


@pytest.mark.parametrize("way", ["link", "password"])
def test_a_session_that_was_there_before_is_another_afterwards(cast: Cast, way: str) -> None:
    client = Client()
    planted = client.session
    planted["seen"] = "before"
    planted.save()
    client.cookies["sessionid"] = planted.session_key
    if way == "link":
        client.get(login_links.make(cast.owner))
    else:
        client.post("/accounts/login/", {"login": "olga", "password": PASSWORD})
    assert client.session["_auth_user_id"] == str(cast.owner.pk)
    assert client.session.session_key != planted.session_key
    assert not planted.exists(planted.session_key)


def test_a_link_is_dead_after_an_hour(cast: Cast) -> None:
    path = login_links.make(cast.owner)
    left = LoginLink.objects.get().expires_at - timezone.now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    LoginLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    client = Client()
    assert client.get(path).status_code == 410
    assert signed_in_as(client) is None


def test_looking_ahead_does_not_use_a_link_up(cast: Cast) -> None:
    path = login_links.make(cast.owner)
    client = Client()
    assert client.head(path).status_code == 405
    assert client.get(path, headers={"Sec-Purpose": "prefetch;prerender"}).status_code == 503
    assert signed_in_as(client) is None
    assert client.get(path).status_code == 302


def test_a_closed_account_and_a_guess_are_refused(cast: Cast) -> None:
    path = login_links.make(cast.owner)
    User.objects.filter(pk=cast.owner.pk).update(is_active=False)
    for guess in (path, "/login/nonsense/", "/login/" + "A" * 43 + "/"):
        assert Client().get(guess).status_code == 410


def test_only_the_hash_of_a_links_secret_is_stored(cast: Cast) -> None:
    secret = login_links.make(cast.owner).removeprefix("/login/").removesuffix("/")
    assert secret.encode() not in bytes(LoginLink.objects.get().digest)
    assert len(secret) >= 43


def test_expired_links_are_cleared_away(cast: Cast) -> None:
    login_links.make(cast.owner)
    LoginLink.objects.update(expires_at=timezone.now() - timedelta(hours=2))
    login_links.make(cast.owner)
    assert LoginLink.objects.count() == 1


@pytest.mark.parametrize("login", ["olga", "olga@example.org", "OLGA@EXAMPLE.ORG"])
def test_a_password_signs_in_by_name_or_address(cast: Cast, login: str) -> None:
    client = Client()
    answer = client.post("/accounts/login/", {"login": login, "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert signed_in_as(client) == str(cast.owner.pk)


def test_a_wrong_password_is_refused_without_telling_which_part_was_wrong(cast: Cast) -> None:
    client = Client()
    known = client.post("/accounts/login/", {"login": "olga", "password": "wrong"})
    unknown = client.post("/accounts/login/", {"login": "nobody", "password": "wrong"})
    assert known.status_code == unknown.status_code == 200
    assert known.context["form"].errors == unknown.context["form"].errors != {}
    assert signed_in_as(client) is None


def test_pages_send_a_visitor_to_sign_in_and_back(cast: Cast) -> None:
    answer = Client().get("/connect/")
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/connect/")
    back = Client().post("/accounts/login/", {"login": "olga", "password": PASSWORD, "next": "/connect/"})
    assert back["Location"] == "/connect/"


def test_sign_in_leads_to_no_other_site(cast: Cast) -> None:
    answer = Client().post("/accounts/login/", {"login": "olga", "password": PASSWORD, "next": "https://evil.example"})
    assert answer["Location"] == "/"


@pytest.mark.parametrize("path", ["/accounts/signup/", "/accounts/password/reset/", "/accounts/email/"])
def test_nobody_signs_up_and_pages_without_a_look_do_not_exist(cast: Cast, path: str) -> None:
    assert Client().get(path).status_code == 404
    assert (
        Client().post(path, {"username": "new", "email": "new@example.org", "password1": PASSWORD}).status_code == 404
    )
    assert not User.objects.filter(username="new").exists()


def test_signing_out_needs_a_post(cast: Cast) -> None:
    client = browser_of(cast.owner)
    assert client.get("/accounts/logout/").status_code == 200
    assert signed_in_as(client)
    client.post("/accounts/logout/")
    assert signed_in_as(client) is None


def test_a_person_who_came_by_link_sets_a_password_and_changes_it(cast: Cast) -> None:
    cast.owner.set_unusable_password()
    cast.owner.save()
    client = Client()
    client.get(login_links.make(cast.owner))
    new = {"password1": PASSWORD, "password2": PASSWORD}
    assert client.get("/accounts/password/set/").status_code == 200
    assert client.post("/accounts/password/set/", new).status_code == 302
    changed = {"oldpassword": PASSWORD, "password1": "another secret 77", "password2": "another secret 77"}
    assert client.get("/accounts/password/change/").status_code == 200
    assert client.post("/accounts/password/change/", changed).status_code == 302
    cast.owner.refresh_from_db()
    assert cast.owner.check_password("another secret 77")


def test_forms_without_their_secret_are_refused(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.owner)
    answer = client.post("/accounts/logout/")
    assert answer.status_code == 403
    assert b"no longer valid" in answer.content
    assert signed_in_as(client)


def test_a_person_of_two_teams_switches_between_them(cast: Cast) -> None:
    Membership.objects.create(team=cast.other_team, user=cast.owner)
    client = browser_of(cast.owner)
    assert client.get("/").context["team"] == cast.team  # the oldest
    assert client.post("/teams/other-team/").status_code == 302
    page = client.get("/")
    assert page.context["team"] == cast.other_team
    assert b"/teams/vision-team/" in page.content


def test_another_team_cannot_be_chosen(cast: Cast) -> None:
    client = browser_of(cast.owner)
    assert client.post("/teams/other-team/").status_code == 404
    assert client.post("/teams/no-such-team/").status_code == 404
    assert client.get("/").context["team"] == cast.team
    assert b"Other team" not in client.get("/").content


def test_switching_needs_a_post_and_a_session(cast: Cast) -> None:
    assert browser_of(cast.owner).get("/teams/vision-team/").status_code == 405
    assert Client().post("/teams/vision-team/")["Location"].startswith("/accounts/login/")


def test_somebody_without_a_team_is_told_so(cast: Cast) -> None:
    cast.owner.memberships.all().delete()
    page = browser_of(cast.owner).get("/")
    assert page.status_code == 403
    assert b"You belong to no team yet" in page.content


def test_a_field_says_what_it_is_for_once(client: Client) -> None:
    page = client.get("/accounts/login/").content.decode()
    assert "Name or e-mail address" in page
    assert "placeholder" not in page
