"""People sign in at a real OpenID Connect provider; its word makes an account, and nothing more."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from dashboard.project import env
from dashboard.teams.models import AuditRecord, Membership, User
from tests.cast import Cast, browser_of
from tests.dashboard.teams.provider import Provider, providing

pytestmark = pytest.mark.django_db
START = "/accounts/sso/"
NINA = {"sub": "n-1", "email": "nina@example.org", "preferred_username": "nina", "name": "Nina"}


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    with providing() as made:
        settings.OIDC = env.single_sign_on("ROUNDWATCH_OIDC", source=made.environment)
        settings.OIDC_NAME = "Campus login"
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [settings.OIDC]}}
        yield made


def leave(client: Client, query: str = "", **form: str) -> str:
    """Press the button; returns where the browser goes on to."""
    answer = client.post(START + query, form)
    assert answer.status_code == 200
    return str(answer["Refresh"]).removeprefix("0; url=")


def come_back(client: Client, target: str) -> HttpResponse:
    """Sign in at the provider as who is there, and follow its way back."""
    back = urlsplit(httpx.get(target).headers["Location"])
    return client.get(f"{back.path}?{back.query}")


def enter(query: str = "", of: User | None = None, **form: str) -> tuple[Client, HttpResponse]:
    """There and back, in a browser that nobody, or one person, is signed in to; with the answer at the end."""
    client = browser_of(of) if of else Client()
    return client, come_back(client, leave(client, query, **form))


def signed_in_as(client: Client) -> User | None:
    return User.objects.filter(pk=client.session.get("_auth_user_id")).first()


def test_a_newcomer_gets_an_account_that_belongs_to_no_team(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    client, answer = enter()
    assert (answer.status_code, answer["Location"]) == (302, "/")
    nina = signed_in_as(client)
    assert nina
    assert (nina.username, nina.email, nina.has_usable_password()) == ("nina", "nina@example.org", False)
    assert not nina.memberships.exists()
    page = client.get("/")
    assert page.status_code == 403
    assert b"You belong to no team yet" in page.content
    assert "/keys" in provider.asked  # the signature was looked at


def test_the_same_person_comes_back_to_the_same_account_whatever_their_name_is_then(
    cast: Cast, provider: Provider
) -> None:
    provider.person = NINA
    first, _ = enter()
    provider.person = NINA | {"email": "n@example.org", "preferred_username": "somebody"}
    second, _ = enter()
    assert signed_in_as(first) == signed_in_as(second)
    assert User.objects.filter(username="nina").count() == 1


def test_a_name_that_is_taken_gets_another_ending(cast: Cast, provider: Provider) -> None:
    provider.person = NINA | {"preferred_username": "olga"}
    client, _ = enter()
    nina = signed_in_as(client)
    assert nina
    assert nina != cast.owner
    assert nina.username != "olga"


@pytest.mark.parametrize("address", ["olga@example.org", "OLGA@example.org"])
def test_the_address_of_an_account_does_not_open_it(cast: Cast, provider: Provider, address: str) -> None:
    provider.person = NINA | {"email": address, "email_verified": True}
    client, answer = enter()
    assert answer.status_code == 409
    assert b"There is an account with your address" in answer.content
    assert signed_in_as(client) is None
    assert User.objects.count() == 4


def test_somebody_connects_their_account_signs_in_so_and_disconnects_it(cast: Cast, provider: Provider) -> None:
    provider.person = NINA | {"email": "olga@example.org"}
    client, answer = enter("?process=connect", of=cast.owner)
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    other, _ = enter()
    assert signed_in_as(other) == cast.owner
    page = client.get("/account/").content.decode()
    key = page.split('name="account" value="')[1].split('"')[0]
    strangers = browser_of(cast.stranger)
    strangers.post("/account/", {"do": "disconnect", "account": key})
    assert "Disconnect" in client.get("/account/").content.decode()
    client.post("/account/", {"do": "disconnect", "account": key})
    assert "Disconnect" not in client.get("/account/").content.decode()
    did = list(AuditRecord.objects.filter(team=cast.team.pk, who="olga").order_by("pk").values_list("did", flat=True))
    wanted = ["connected single sign-on", "signed in by Campus login", "disconnected single sign-on"]
    assert [one for one in did if one in wanted] == wanted


def test_who_has_no_password_stays_connected(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    client, _ = enter()
    key = client.get("/account/").content.decode().split('name="account" value="')[1].split('"')[0]
    page = client.post("/account/", {"do": "disconnect", "account": key}, follow=True)
    assert b"set a password first" in page.content
    assert b"Disconnect" in page.content


def test_what_one_account_is_connected_with_another_cannot_take(cast: Cast, provider: Provider) -> None:
    provider.person = NINA | {"email": ""}
    for user in (cast.owner, cast.stranger):
        enter("?process=connect", of=user)
    other, _ = enter()
    assert signed_in_as(other) == cast.owner


def test_it_leads_back_to_where_one_was_going_and_to_no_other_site(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    assert enter(next="/connect/")[1]["Location"] == "/connect/"
    assert enter(next="https://evil.example/")[1]["Location"] == "/"


def test_a_token_that_the_provider_did_not_sign_lets_nobody_in(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    provider.shows = rsa.generate_private_key(65537, 2048)
    client, answer = enter()
    assert answer.status_code == 401
    assert b"You are not signed in" in answer.content
    assert signed_in_as(client) is None


@pytest.mark.parametrize(
    "wrong", [{"aud": "another"}, {"exp": 1}, {"iss": "https://evil.example"}], ids=["audience", "time", "issuer"]
)
def test_a_token_for_another_server_or_time_lets_nobody_in(
    cast: Cast, provider: Provider, wrong: dict[str, object]
) -> None:
    provider.person = NINA | wrong
    client, answer = enter()
    assert answer.status_code == 401
    assert signed_in_as(client) is None


def test_an_answer_about_somebody_else_lets_nobody_in(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    provider.says_of = NINA | {"sub": "another"}
    client, answer = enter()
    assert answer.status_code == 401
    assert signed_in_as(client) is None


def test_a_way_back_without_a_way_there_lets_nobody_in(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    target = leave(Client())
    somebody = Client()
    answer = come_back(somebody, target)
    assert answer.status_code == 401
    assert signed_in_as(somebody) is None


def test_the_way_back_is_good_once(cast: Cast, provider: Provider) -> None:
    provider.person = NINA
    client = Client()
    back = urlsplit(httpx.get(leave(client)).headers["Location"])
    path = f"{back.path}?{back.query}"
    assert client.get(path).status_code == 302
    client.post("/accounts/logout/")
    asked = len(provider.asked)
    assert client.get(path).status_code == 401
    assert len(provider.asked) == asked, "the code was shown again"
    assert signed_in_as(client) is None


def test_who_breaks_it_off_is_told_so(cast: Cast, provider: Provider) -> None:
    client, answer = enter()
    assert answer.status_code == 302
    assert b"You broke it off" in client.get(answer["Location"]).content
    assert signed_in_as(client) is None


def test_a_provider_that_is_away_or_talks_nonsense_is_no_error_of_ours(
    cast: Cast, provider: Provider, settings: Settings
) -> None:
    for address in ("http://127.0.0.1:1", f"{provider.url}/nothing"):
        settings.OIDC["settings"]["server_url"] = address
        answer = Client().post(START)
        assert answer.status_code == 401
        assert b"You are not signed in" in answer.content


def test_leaving_needs_the_button(cast: Cast, provider: Provider) -> None:
    assert Client().get(START).status_code == 405
    assert Client(enforce_csrf_checks=True).post(START).status_code == 403


def test_without_a_provider_there_is_no_such_page(cast: Cast) -> None:
    assert Client().post(START).status_code == 404
    assert Client().get(f"{START}callback/?code=1&state=1").status_code == 404
    assert b"Sign in with" not in Client().get("/accounts/login/").content


def test_the_sign_in_page_names_the_provider(cast: Cast, provider: Provider) -> None:
    page = Client().get("/accounts/login/?next=/connect/").content.decode()
    assert "Campus login" in page
    assert '<input type="hidden" name="next" value="/connect/">' in page


def test_an_invitation_is_accepted_by_single_sign_on(cast: Cast, provider: Provider) -> None:
    link = browser_of(cast.owner).post("/team/", {"do": "invite", "role": "viewer"}).context["link"]
    path = urlsplit(link).path
    provider.person = NINA
    client, answer = enter(next=path)
    assert answer["Location"] == path
    assert client.post(path).status_code == 302
    assert Membership.objects.get(team=cast.team, user__username="nina").role == "viewer"
