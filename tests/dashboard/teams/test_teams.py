"""Teams are made once, with a token whose hash alone is kept."""

import hashlib
import io
import json

import pytest
from django.core.management import CommandError, call_command

from dashboard.teams import tokens
from dashboard.teams.models import Membership, Team, User
from dashboard.teams.teams import TeamExistsError, create_team, ensure_first_team
from ingest.models import Token
from tests.cast import Cast

pytestmark = pytest.mark.django_db


def test_the_first_team_is_made_once_and_keeps_its_token() -> None:
    team, user, token = ensure_first_team()
    assert Membership.objects.get(team=team, user=user).role == "owner"
    assert not user.has_usable_password()
    assert ensure_first_team(token) == (team, user, token)
    assert (Team.objects.count(), User.objects.count(), Token.objects.count()) == (1, 1, 1)


def test_a_lost_or_revoked_token_of_the_first_team_is_replaced() -> None:
    team, _, token = ensure_first_team()
    Token.objects.update(revoked_at=team.created_at)
    for known in (token, "rw_nonsense", ""):
        fresh = ensure_first_team(known)[2]
        assert fresh not in (known, token)
        assert tokens.valid(team, fresh)


def test_a_token_of_another_team_or_with_fewer_scopes_does_not_pass_for_the_first_teams(cast: Cast) -> None:
    foreign = tokens.issue(cast.other_team, "theirs", tokens.SCOPES)
    narrow = tokens.issue(cast.team, "sender", ["ingest"])
    assert ensure_first_team(foreign)[0] == cast.team
    assert ensure_first_team(foreign)[2] != foreign
    assert ensure_first_team(narrow)[2] != narrow


def test_only_the_hash_of_a_token_is_stored(cast: Cast) -> None:
    text = tokens.issue(cast.team, "hosts", ["ingest", "read"])
    stored = Token.objects.get()
    assert bytes(stored.digest) == hashlib.sha256(text.encode()).digest()
    assert stored.scopes == ["ingest", "read"]
    assert text.startswith(stored.prefix)
    assert len(text) >= len("rw_") + 43  # 256 bits
    assert text not in json.dumps(list(Token.objects.values("name", "prefix", "scopes")))


@pytest.mark.parametrize("scopes", [[], ["root"], ["ingest", "everything"]])
def test_a_token_with_no_scope_or_an_unknown_one_is_refused(cast: Cast, scopes: list[str]) -> None:
    with pytest.raises(ValueError, match="scopes must be some of"):
        tokens.issue(cast.team, "bad", scopes)


def test_create_team_prints_its_id_and_a_token_with_all_scopes() -> None:
    out = io.StringIO()
    call_command("create_team", "Language team", "--owner", "lina", stdout=out)
    answer = json.loads(out.getvalue())
    team = Team.objects.get(pk=answer["id"])
    assert team.name == "Language team"
    assert tokens.valid(team, answer["token"])
    assert Membership.objects.get(team=team).user.username == "lina"


@pytest.mark.parametrize("name", ["Vision team", "vision  team", "Vision Team", " Vision team "])
def test_a_name_that_is_taken_is_refused_in_one_sentence(cast: Cast, name: str) -> None:
    with pytest.raises(CommandError, match="there is already a team named"):
        call_command("create_team", name)
    assert Team.objects.count() == 2


@pytest.mark.parametrize("name", ["", "   ", "x" * 129, "a\0b", "tab\u200f\x07"])
def test_a_name_that_is_none_is_refused(db: None, name: str) -> None:
    with pytest.raises(ValueError, match="1 to 128 printable characters"):
        create_team(name)


def test_names_in_any_script_and_with_markup_are_names(db: None) -> None:
    assert create_team("研究チーム")[0].slug.startswith("team-")
    assert create_team("<script>alert(1)</script>")[0].name == "<script>alert(1)</script>"
    with pytest.raises(TeamExistsError):
        create_team("研究チーム")


@pytest.mark.parametrize("team", ["Vision team", "vision-team"])
def test_a_person_is_added_to_a_team_with_an_account_of_his_own(cast: Cast, team: str) -> None:
    call_command("add_member", team, "nora", "--role", "viewer", stdout=io.StringIO())
    nora = User.objects.get(username="nora")
    assert not nora.has_usable_password()
    assert [(each.team, each.role) for each in nora.memberships.all()] == [(cast.team, "viewer")]
    call_command("add_member", str(cast.team.pk), "nora", "--role", "owner", stdout=io.StringIO())
    assert nora.memberships.get().role == "owner"


@pytest.mark.parametrize(
    ("team", "user", "why"),
    [("No such team", "nora", "There is no team"), ("Vision team", "no ra<b>", "a username has")],
)
def test_an_unknown_team_or_an_impossible_name_adds_nobody(cast: Cast, team: str, user: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("add_member", team, user)
    assert User.objects.count() == 4
