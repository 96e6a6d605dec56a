"""What was done stays written down: Postgres refuses to change it, and only owners of the team read it."""

import json

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from dashboard.teams import login_links, tokens
from dashboard.teams.audit import audit
from dashboard.teams.models import Area, AuditRecord, Team
from tests.cast import PASSWORD, Cast, browser_of
from tests.dashboard.runs_of import make_run

pytestmark = pytest.mark.django_db


def write(cast: Cast, did: str, area: Area = Area.RUN) -> AuditRecord:
    audit(None, cast.team, area, did)
    return AuditRecord.objects.latest("pk")


def test_postgres_itself_refuses_to_change_or_delete_a_record(cast: Cast) -> None:
    row = write(cast, "did it")
    for statement in (
        "UPDATE teams_auditrecord SET who = 'nobody'",
        "UPDATE teams_auditrecord SET at = at WHERE id = 0 OR true",
        "DELETE FROM teams_auditrecord",
    ):
        with pytest.raises(IntegrityError, match="neither changed nor deleted"), transaction.atomic():
            connection.cursor().execute(statement)
    for change in (row.delete, row.save):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    row.refresh_from_db()
    assert row.did == "did it"


def test_a_record_outlives_the_person_and_the_team(cast: Cast) -> None:
    browser_of(cast.owner).post("/team/", {"do": "rename", "name": "Sight"})
    key = cast.team.pk
    cast.owner.delete()
    cast.team.delete()
    assert AuditRecord.objects.filter(team=key, who="olga", area="team").exists()


def test_owners_read_it_and_nobody_else(cast: Cast) -> None:
    write(cast, "did something secret")
    assert b"did something secret" in browser_of(cast.owner).get("/team/audit/").content
    for user in (cast.member, cast.viewer):
        refused = browser_of(user).get("/team/audit/")
        assert refused.status_code == 403
        assert b"did something secret" not in refused.content
    theirs = browser_of(cast.stranger).get("/team/audit/?q=secret")
    assert theirs.status_code == 200
    assert b"did something secret" not in theirs.content
    assert Client().get("/team/audit/")["Location"].startswith("/accounts/login/")


def test_nothing_can_be_posted_to_it(cast: Cast) -> None:
    assert browser_of(cast.owner).post("/team/audit/").status_code == 405


def test_it_is_filtered_by_area_and_words_and_paged(cast: Cast) -> None:
    for index in range(60):
        write(cast, f"deleted the run r{index:02}")
    write(cast, "made the rule “nights”", Area.RULE)
    client = browser_of(cast.owner)

    def shown(query: str) -> list[str]:
        return [row.did for row in client.get(f"/team/audit/{query}").context["records"]]

    assert shown("?area=rule") == ["made the rule “nights”"]
    assert shown("?q=R07") == ["deleted the run r07"]
    assert shown("?q=on+the+server&area=rule") == ["made the rule “nights”"]
    assert shown("?q=nothing+like+it") == []
    first = client.get("/team/audit/?area=run")
    assert len(first.context["records"]) == 50
    rest = shown(f"?area=run&before={first.context['more']}")
    assert rest == [f"deleted the run r{index:02}" for index in range(9, -1, -1)]


@pytest.mark.parametrize("query", ["?area=x", "?before=x", "?before=-1", "?before=" + "9" * 40, "?q=%00", "?q=%25_'"])
def test_nonsense_in_the_address_is_no_error(cast: Cast, query: str) -> None:
    assert browser_of(cast.owner).get(f"/team/audit/{query}").status_code == 200


def test_sign_ins_are_written_down_for_each_team_with_where_from(cast: Cast) -> None:
    cast.other_team.memberships.create(user=cast.owner)
    Client(REMOTE_ADDR="192.0.2.7").post("/accounts/login/", {"login": "olga", "password": PASSWORD})
    rows = AuditRecord.objects.filter(area="sign-in", who="olga")
    assert {row.team for row in rows} == {cast.team.pk, cast.other_team.pk}
    assert {row.address for row in rows} == {"192.0.2.7"}
    Client().post("/accounts/login/", {"login": "olga", "password": "wrong"})
    assert rows.count() == 2
    Client().get(login_links.make(cast.viewer))
    assert AuditRecord.objects.filter(area="sign-in", who="vera").get().did == "signed in by a link"


@pytest.mark.parametrize(
    ("told", "kept"),
    [("fe80::1%eth0", "fe80::1"), ("\xff", None), ("unix:", None), ("", None), ("192.0.2.7:80", None), ("::", "::")],
)
def test_an_address_that_is_none_stops_nobody(cast: Cast, told: str, kept: str | None) -> None:
    assert Client(REMOTE_ADDR=told).get(login_links.make(cast.owner)).status_code == 302
    assert AuditRecord.objects.get(area="sign-in").address == kept


def test_a_token_is_named_where_it_acts(cast: Cast) -> None:
    run = make_run(cast.team, "vit")
    text = tokens.issue(cast.team, "nightly", ["admin"])
    script = Client(headers={"authorization": f"Bearer {text}"})
    script.patch(f"/api/v1/runs/{run.pk}", json.dumps({"notes": "n"}), "application/json")
    script.delete(f"/api/v1/runs/{run.pk}")
    changed, deleted = AuditRecord.objects.filter(team=cast.team.pk, area="run").order_by("pk")
    assert changed.who == deleted.who == f"token nightly ({text[:10]}…)"
    assert changed.did.startswith("changed notes of the run “vit”")
    assert deleted.did.startswith("deleted the run “vit”")


EDITS = [
    ("/connect/", {"name": "hosts", "scopes": ["ingest"]}, "token", "made the token “hosts”"),
    ("/thresholds/", {"straggler.ratio": "2.5"}, "threshold", "changed thresholds of the team: "),
    ("/alerts/rules/", {"name": "nights", "enabled": "on"}, "rule", "made the rule “nights”"),
    ("/alerts/channels/", {"name": "desk", "way": "email", "to": "a@example.org", "enabled": "on"}, "channel",
     "made the channel “desk”"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "form", "area", "did"), EDITS)
def test_edits_of_a_team_are_written_down(cast: Cast, path: str, form: dict[str, object], area: str, did: str) -> None:
    answer = browser_of(cast.member).post(path, form)
    assert answer.status_code in (200, 302)
    row = AuditRecord.objects.filter(area=area).get()
    assert (row.team, row.who) == (cast.team.pk, "mika")
    assert row.did.startswith(did)
    browser_of(cast.viewer).post(path, form)
    assert AuditRecord.objects.filter(area=area).count() == 1


def test_hostile_words_are_kept_bounded_and_shown_as_text(cast: Cast) -> None:
    row = write(cast, "\0<script>alert(1)</script>\u202e" + "x" * 2000)
    assert len(row.did) == 500
    page = browser_of(cast.owner).get("/team/audit/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page


def test_a_team_that_is_made_by_command_says_so(db: None) -> None:
    from dashboard.teams.teams import create_team

    team: Team = create_team("Language team")[0]
    assert AuditRecord.objects.get(team=team.pk).who == "a command on the server"
