"""Owners decide who belongs to a team and as what; a team never loses its last owner."""

from threading import Barrier, Thread

import pytest
from django.db import connection
from django.test import Client

from dashboard.teams.models import AuditRecord, Membership, Role, Team, User
from dashboard.teams.teams import MOST_OWNED, add_member
from tests.cast import Cast, browser_of

pytestmark = pytest.mark.django_db
MARKUP = "<img src=x onerror=alert(1)>"


def of(cast: Cast, user: User) -> Membership:
    return Membership.objects.get(user=user, team=cast.team)


def path_to(cast: Cast, user: User) -> str:
    return f"/team/members/{of(cast, user).pk}/"


def did(cast: Cast) -> list[tuple[str, str]]:
    rows = AuditRecord.objects.filter(team=cast.team.pk).exclude(area="sign-in").order_by("pk")
    return list(rows.values_list("who", "did"))


def test_everybody_of_a_team_sees_its_members_and_nobody_else_does(cast: Cast) -> None:
    for user in (cast.owner, cast.member, cast.viewer):
        page = browser_of(user).get("/team/").content.decode()
        assert all(name in page for name in ("olga", "mika", "vera"))
        assert "stan" not in page
        assert ("Invite somebody" in page) == (user == cast.owner)
    assert b"olga" not in browser_of(cast.stranger).get("/team/").content
    assert Client().get("/team/")["Location"].startswith("/accounts/login/")


def test_an_owner_changes_a_role_and_it_is_written_down(cast: Cast) -> None:
    answer = browser_of(cast.owner).post(path_to(cast, cast.viewer), {"do": "role", "role": "member"})
    assert answer.status_code == 302
    assert of(cast, cast.viewer).role == "member"
    assert did(cast) == [("olga", "made vera member (was viewer)")]


def test_nobody_but_an_owner_changes_roles_or_removes_others(cast: Cast) -> None:
    path = path_to(cast, cast.owner)
    for user, status in ((cast.member, 403), (cast.viewer, 403), (cast.stranger, 404)):
        for form in ({"do": "role", "role": "owner"}, {"do": "remove"}):
            assert browser_of(user).post(path, form).status_code == status
            own = browser_of(user).post(path_to(cast, cast.viewer), {"do": "role", "role": "owner"})
            assert own.status_code == status
    assert Membership.objects.filter(team=cast.team).count() == 3
    assert of(cast, cast.viewer).role == "viewer"
    assert did(cast) == []


def test_an_unknown_role_is_refused(cast: Cast) -> None:
    answer = browser_of(cast.owner).post(path_to(cast, cast.viewer), {"do": "role", "role": "king"})
    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    assert of(cast, cast.viewer).role == "viewer"


def test_a_removed_member_is_out_at_once(cast: Cast) -> None:
    theirs = browser_of(cast.member)
    assert theirs.get("/team/").status_code == 200
    browser_of(cast.owner).post(path_to(cast, cast.member), {"do": "remove"})
    assert theirs.get("/team/").status_code == 404
    assert theirs.get("/").status_code == 403
    assert did(cast) == [("olga", "removed mika (member)")]


@pytest.mark.parametrize("form", [{"do": "role", "role": "member"}, {"do": "remove"}])
def test_the_last_owner_stays_one(cast: Cast, form: dict[str, str]) -> None:
    client, path = browser_of(cast.owner), path_to(cast, cast.owner)
    page = client.post(path, form, follow=True)
    assert b"is the last owner" in page.content
    assert of(cast, cast.owner).role == "owner"
    Membership.objects.filter(user=cast.member).update(role=Role.OWNER)
    assert client.post(path, form).status_code == 302
    assert Membership.objects.get(team=cast.team, role="owner").user == cast.member


def test_an_owner_whose_account_is_closed_does_not_count(cast: Cast) -> None:
    Membership.objects.filter(user=cast.member).update(role=Role.OWNER)
    User.objects.filter(pk=cast.member.pk).update(is_active=False)
    page = browser_of(cast.owner).post(path_to(cast, cast.owner), {"do": "remove"}, follow=True)
    assert b"is the last owner" in page.content


def test_a_command_leaves_the_last_owner_too(cast: Cast) -> None:
    with pytest.raises(ValueError, match="is the last owner"):
        add_member(cast.team, "olga", Role.VIEWER)
    assert of(cast, cast.owner).role == "owner"


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_once_one_stays(cast: Cast) -> None:
    Membership.objects.filter(user=cast.member).update(role=Role.OWNER)
    together = Barrier(2, timeout=20)

    def leave(user: User, path: str) -> None:
        client = browser_of(user)
        together.wait()
        client.post(path, {"do": "remove"})
        connection.close()

    for _ in range(5):
        Membership.objects.get_or_create(team=cast.team, user=cast.owner, defaults={"role": Role.OWNER})
        Membership.objects.get_or_create(team=cast.team, user=cast.member, defaults={"role": Role.OWNER})
        both = [Thread(target=leave, args=(user, path_to(cast, user))) for user in (cast.owner, cast.member)]
        for each in both:
            each.start()
        for each in both:
            each.join(20)
        assert Membership.objects.filter(team=cast.team, role=Role.OWNER).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_remove_each_other_at_once_one_stays(cast: Cast) -> None:
    Membership.objects.filter(user=cast.member).update(role=Role.OWNER)
    Membership.objects.filter(user=cast.viewer).update(role=Role.OWNER)
    together = Barrier(2, timeout=20)

    def remove(user: User, path: str) -> None:
        client = browser_of(user)
        together.wait()
        client.post(path, {"do": "remove"})
        connection.close()

    pair = (cast.owner, cast.member)
    for _ in range(5):
        for user in pair:
            Membership.objects.get_or_create(team=cast.team, user=user, defaults={"role": Role.OWNER})
        paths = [path_to(cast, user) for user in reversed(pair)]
        both = [Thread(target=remove, args=each) for each in zip(pair, paths, strict=True)]
        for each in both:
            each.start()
        for each in both:
            each.join(20)
        assert Membership.objects.filter(team=cast.team, user__in=pair).count() == 1


def test_anybody_may_leave_and_sees_nothing_more(cast: Cast) -> None:
    client = browser_of(cast.viewer)
    assert "Leave the team" in client.get(path_to(cast, cast.viewer)).content.decode()
    assert client.post(path_to(cast, cast.viewer), {"do": "remove"})["Location"] == "/"
    assert client.get("/").status_code == 403
    assert did(cast) == [("vera", "left the team")]


def test_an_owner_renames_the_team_and_its_address_stays(cast: Cast) -> None:
    answer = browser_of(cast.owner).post("/team/", {"do": "rename", "name": " Sight  team "})
    assert answer.status_code == 302
    cast.team.refresh_from_db()
    assert (cast.team.name, cast.team.slug) == ("Sight team", "vision-team")
    assert did(cast) == [("olga", "renamed the team from “Vision team” to “Sight team”")]


@pytest.mark.parametrize("name", ["", "   ", "x" * 129, "\u200f", "a\u202eb"])
def test_a_name_that_cannot_be_read_is_refused(cast: Cast, name: str) -> None:
    answer = browser_of(cast.owner).post("/team/", {"do": "rename", "name": name})
    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    assert Team.objects.get(pk=cast.team.pk).name == "Vision team"


def test_only_owners_rename_invite_and_revoke(cast: Cast) -> None:
    for user in (cast.member, cast.viewer):
        for form in ({"do": "rename", "name": "Ours"}, {"do": "invite", "role": "owner"}, {"do": "revoke"}):
            assert browser_of(user).post("/team/", form).status_code == 403
    assert browser_of(cast.stranger).post("/team/", {"do": "rename", "name": "Ours"}).status_code == 302
    assert [team.name for team in Team.objects.order_by("created_at")] == ["Vision team", "Ours"]


def test_a_form_of_another_team_than_the_one_looked_at_changes_nothing(cast: Cast) -> None:
    page = browser_of(cast.owner).post("/team/", {"do": "rename", "name": "Ours", "team": "other-team"}, follow=True)
    assert b"Nothing was saved" in page.content
    assert Team.objects.get(pk=cast.team.pk).name == "Vision team"


def test_nothing_else_can_be_done_to_a_team(cast: Cast) -> None:
    assert browser_of(cast.owner).post("/team/", {"do": "sell"}).status_code == 400


def test_somebody_makes_a_team_owns_it_and_looks_at_it(cast: Cast) -> None:
    client = browser_of(cast.viewer)
    assert client.post("/team/new/", {"name": "Mine"})["Location"] == "/team/"
    made = Team.objects.get(name="Mine")
    assert [(each.user, each.role) for each in made.memberships.all()] == [(cast.viewer, "owner")]
    assert client.get("/team/").context["team"] == made
    assert AuditRecord.objects.get(team=made.pk, area="team").did == "made the team “Mine”"


def test_a_new_teams_name_and_address_tell_nothing_of_other_teams(cast: Cast) -> None:
    """A refusal, or an ending only where it is needed, would say that there is a team of this name."""
    client = browser_of(cast.stranger)
    for name in ("Vision team", "Nobody's"):
        assert client.post("/team/new/", {"name": name}).status_code == 302
        made = Team.objects.order_by("-created_at")[0]
        assert made.name == name
        assert made.slug.rpartition("-")[0] in ("vision-team", "nobodys")
        assert len(made.slug.rpartition("-")[2]) == 8


def test_one_person_owns_so_many_teams(cast: Cast) -> None:
    for index in range(MOST_OWNED - 1):
        team = Team.objects.create(name=f"t{index}", slug=f"t{index}")
        Membership.objects.create(team=team, user=cast.stranger, role=Role.OWNER)
    page = browser_of(cast.stranger).post("/team/new/", {"name": "One more"})
    assert b"No team was made" in page.content
    assert not Team.objects.filter(name="One more").exists()


def test_markup_in_names_is_text(cast: Cast) -> None:
    Team.objects.filter(pk=cast.team.pk).update(name=MARKUP)
    User.objects.filter(pk=cast.viewer.pk).update(username=MARKUP, email='"<b>"@example.org')
    client = browser_of(cast.owner)
    for path in ("/team/", path_to(cast, cast.viewer), "/account/", "/team/tokens/", "/team/audit/"):
        page = client.get(path).content
        assert b"<img src=x" not in page
        assert b"<b>&quot;" not in page
