"""An owner's link lets one person join in one role; sign-up is closed to everybody else."""

from collections.abc import Iterator
from datetime import timedelta
from threading import Barrier, Thread
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from dashboard.teams import invitations
from dashboard.teams.models import AuditRecord, Invitation, Membership, Role, User
from tests.cast import PASSWORD, Cast, browser_of
from tests.dashboard.teams.mail import Mail, mail_server

pytestmark = pytest.mark.django_db
NORA = {"username": "nora", "email": "nora@example.org", "password": PASSWORD}


def invite(cast: Cast, role: str = "member", email: str = "") -> str:
    """The path of a new invitation."""
    page = browser_of(cast.owner).post("/team/", {"do": "invite", "role": role, "email": email})
    return urlsplit(page.context["link"]).path


def role_of(cast: Cast, user: User) -> str | None:
    return Membership.objects.filter(team=cast.team, user=user).values_list("role", flat=True).first()


def test_a_link_is_shown_once_and_only_its_hash_is_kept(cast: Cast) -> None:
    client = browser_of(cast.owner)
    page = client.post("/team/", {"do": "invite", "role": "member", "email": "nora@example.org"})
    link = page.context["link"]
    assert link in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    secret = link.rstrip("/").rpartition("/")[2]
    assert len(secret) >= 43
    again = client.get("/team/").content.decode()
    assert secret not in again
    assert "nora@example.org" in again
    row = Invitation.objects.get()
    assert secret.encode() not in bytes(row.digest)
    assert timedelta(days=6, hours=23) < row.expires_at - timezone.now() <= timedelta(days=7)


@pytest.mark.parametrize("role", ["owner", "member", "viewer"])
def test_somebody_with_an_account_joins_in_the_role_once(cast: Cast, role: str) -> None:
    path, theirs = invite(cast, role), browser_of(cast.stranger)
    page = theirs.get(path).content.decode()
    assert "Vision team" in page
    assert "olga" in page
    assert role_of(cast, cast.stranger) is None
    assert theirs.post(path)["Location"] == "/"
    assert role_of(cast, cast.stranger) == role
    assert theirs.get("/").context["team"] == cast.team
    other = User.objects.create(username="other")
    for method in ("get", "post"):
        refused = getattr(browser_of(other), method)(path)
        assert refused.status_code == 410
        assert b"Vision team" not in refused.content
    assert role_of(cast, other) is None


def test_somebody_without_an_account_makes_one_and_is_in(cast: Cast) -> None:
    path, client = invite(cast, "viewer", "nora@example.org"), Client()
    assert b'value="nora@example.org"' in client.get(path).content
    assert client.post(path, NORA)["Location"] == "/"
    nora = User.objects.get(username="nora")
    assert client.session["_auth_user_id"] == str(nora.pk)
    assert (role_of(cast, nora), nora.check_password(PASSWORD)) == ("viewer", True)
    assert client.get("/").status_code == 200
    assert Client().post("/accounts/login/", {"login": "nora", "password": PASSWORD})["Location"] == "/"


@pytest.mark.parametrize(
    "wrong",
    [
        {"username": "olga"}, {"username": "Olga"}, {"username": ""}, {"username": "no ra"},
        {"email": "olga@example.org"}, {"password": "short"}, {"password": "password"}, {"password": ""},
        {"username": "a" * 151}, {"username": "nora\0"},
    ],
)  # fmt: skip
def test_an_account_that_may_not_be_is_not_made_and_the_link_stays(cast: Cast, wrong: dict[str, str]) -> None:
    path = invite(cast)
    page = Client().post(path, NORA | wrong)
    assert page.status_code == 200
    assert b"errorlist" in page.content
    assert User.objects.count() == 4
    assert Client().post(path, NORA).status_code == 302


def test_without_an_invitation_nobody_signs_up(cast: Cast) -> None:
    for path in ("/join/nonsense/", "/join/" + "A" * 43 + "/", "/accounts/signup/"):
        assert Client().post(path, NORA).status_code in (404, 410)
    assert User.objects.count() == 4


@pytest.mark.parametrize("ending", ["revoked", "expired"])
def test_an_invitation_that_ended_is_worth_nothing(cast: Cast, ending: str) -> None:
    path = invite(cast)
    if ending == "revoked":
        answer = browser_of(cast.owner).post("/team/", {"do": "revoke", "invitation": Invitation.objects.get().pk})
        assert answer.status_code == 302
    else:
        Invitation.objects.update(expires_at=timezone.now())
    assert Client().get(path).status_code == 410
    assert Client().post(path, NORA).status_code == 410
    assert browser_of(cast.stranger).post(path).status_code == 410
    assert (User.objects.count(), role_of(cast, cast.stranger)) == (4, None)
    assert "nora" not in browser_of(cast.owner).get("/team/").content.decode()


@pytest.mark.parametrize("form", [{"do": "remove"}, {"do": "role", "role": "member"}])
def test_what_an_owner_invited_ends_with_their_ownership(cast: Cast, form: dict[str, str]) -> None:
    Membership.objects.filter(user=cast.member).update(role="owner")
    page = browser_of(cast.member).post("/team/", {"do": "invite", "role": "owner"})
    kept_aside, others = urlsplit(page.context["link"]).path, invite(cast)
    member = Membership.objects.get(user=cast.member)
    browser_of(cast.owner).post(f"/team/members/{member.pk}/", form)
    assert browser_of(cast.member).post(kept_aside).status_code == 410
    assert browser_of(cast.stranger).get(others).status_code == 200
    written = AuditRecord.objects.filter(area="invitation").latest("pk")
    assert (written.who, written.did) == ("olga", "ended 1 open invitation of mika, who owns the team no more")


def test_who_stops_owning_the_team_while_they_invite_somebody_invites_nobody(cast: Cast) -> None:
    request = RequestFactory().post("/team/")
    request.user = cast.member
    with pytest.raises(PermissionDenied):
        invitations.make(request, cast.team, Role.OWNER)
    assert not Invitation.objects.exists()


def test_an_address_that_is_too_long_is_refused(cast: Cast) -> None:
    form = {"do": "invite", "role": "member", "email": f"{'a' * 260}@example.org"}
    page = browser_of(cast.owner).post("/team/", form)
    assert page.status_code == 200
    assert b"errorlist" in page.content
    assert not Invitation.objects.exists()


def test_looking_uses_nothing_up(cast: Cast) -> None:
    path = invite(cast)
    for client in (Client(), browser_of(cast.stranger)):
        assert client.get(path).status_code == 200
        assert client.head(path).status_code == 200
    assert Client().post(path, NORA).status_code == 302


def test_a_member_who_opens_it_stays_as_they_are_and_leaves_it_for_others(cast: Cast) -> None:
    path = invite(cast, "viewer")
    assert browser_of(cast.owner).post(path)["Location"] == "/team/"
    assert role_of(cast, cast.owner) == "owner"
    assert browser_of(cast.stranger).post(path).status_code == 302


def test_another_teams_invitations_can_be_neither_seen_nor_revoked(cast: Cast) -> None:
    path = invite(cast, email="nora@example.org")
    key = Invitation.objects.get().pk
    client = browser_of(cast.stranger)
    assert b"nora@example.org" not in client.get("/team/").content
    for wrong in (key, 987654321, "", "x", "9" * 30):
        assert client.post("/team/", {"do": "revoke", "invitation": wrong}).status_code == 404
    assert browser_of(cast.viewer).get("/team/").context["invitations"] == []
    assert Client().post(path, NORA).status_code == 302


def test_so_many_may_be_open(cast: Cast) -> None:
    for index in range(invitations.MOST_OPEN):
        Invitation.objects.create(
            team=cast.team, digest=str(index).encode(), expires_at=timezone.now() + timedelta(days=1)
        )
    page = browser_of(cast.owner).post("/team/", {"do": "invite", "role": "member"})
    assert b"Nobody was invited" in page.content
    assert Invitation.objects.count() == invitations.MOST_OPEN


def test_what_became_of_it_is_written_down(cast: Cast) -> None:
    Client().post(invite(cast, "viewer", "nora@example.org"), NORA)
    invite(cast)
    browser_of(cast.owner).post("/team/", {"do": "revoke", "invitation": Invitation.objects.latest("pk").pk})
    rows = AuditRecord.objects.filter(team=cast.team.pk, area__in=["invitation", "member"]).order_by("pk")
    assert [(row.who, row.did) for row in rows] == [
        ("olga", "invited nora@example.org as viewer"),
        ("nora", "joined as viewer, invited by olga"),
        ("olga", "invited somebody as member"),
        ("olga", "revoked the invitation of somebody as member"),
    ]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_open_one_link_at_once_one_joins(cast: Cast) -> None:
    path, together = invite(cast), Barrier(2, timeout=20)
    statuses = []

    def accept(name: str) -> None:
        client = Client()
        together.wait()
        statuses.append(client.post(path, {"username": name, "password": PASSWORD}).status_code)
        connection.close()

    both = [Thread(target=accept, args=(name,)) for name in ("nora", "nils")]
    for each in both:
        each.start()
    for each in both:
        each.join(20)
    assert sorted(statuses) == [302, 410]
    assert User.objects.count() == 5  # the loser's account was not made either


@pytest.fixture
def mail(settings: Settings) -> Iterator[Mail]:
    with mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "127.0.0.1", server.port, False
        yield server


def test_with_a_mail_server_the_link_is_sent_too(cast: Cast, mail: Mail) -> None:
    page = browser_of(cast.owner).post("/team/", {"do": "invite", "role": "viewer", "email": "nora@example.org"})
    assert "It was sent to nora@example.org" in page.content.decode()
    (letter,) = mail.letters
    assert letter["To"] == "nora@example.org"
    assert letter["Subject"] == "Join “Vision team” on Roundwatch"
    assert page.context["link"] in letter.get_content()
    assert "olga invites you" in letter.get_content()


def test_a_letter_that_is_not_taken_is_told_and_the_link_is_there(cast: Cast, mail: Mail) -> None:
    mail.refuses = True
    page = browser_of(cast.owner).post("/team/", {"do": "invite", "role": "viewer", "email": "nora@example.org"})
    assert "It could not be sent to nora@example.org" in page.content.decode()
    assert browser_of(cast.stranger).get(urlsplit(page.context["link"]).path).status_code == 200


def test_without_a_mail_server_the_link_goes_to_nobody_and_no_log(
    cast: Cast, settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.console.EmailBackend", ""
    page = browser_of(cast.owner).post("/team/", {"do": "invite", "role": "viewer", "email": "nora@example.org"})
    assert "hand the link over yourself" in page.content.decode()
    assert "/join/" not in "".join(capfd.readouterr())
