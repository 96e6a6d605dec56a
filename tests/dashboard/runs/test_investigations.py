"""Investigations: a finding, the change, the check, and the later runs that did or did not pass it."""

import pytest
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.runs.models import InvestigatedRun, Investigation
from dashboard.teams.models import AuditRecord
from ingest.models import Finding, Run
from ingest.store import deletion
from ingest.tasks import judge_intervals
from tests.cast import Cast, browser_of
from tests.dashboard.runs.compared import timed_run, told_run
from tests.dashboard.runs_of import NOON, add_finding, add_round, make_run

pytestmark = pytest.mark.django_db
HOSTILE = "</script><img src=x onerror=alert(1)>"
FORM = {
    "title": "Slow encoders of machine 6", "change": "One thread for each CPU of the quota", "check_by": "absent",
    "side": "most", "tag": "threads-fixed",
}  # fmt: skip


@pytest.fixture
def finding(cast: Cast) -> Finding:
    return add_finding(make_run(cast.team, "slow-one", age_m=600), [4])


def begun(client: Client, finding: Finding, **form: str) -> Investigation:
    answer = client.post(f"/investigations/new/?finding={finding.pk}", FORM | form)
    assert answer.status_code == 302, answer.content.decode()
    return Investigation.objects.latest("pk")


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().replace("\N{NO-BREAK SPACE}", " ").split())


def later(cast: Cast, name: str, *, tags: list[str] | None = None, wall_s: float = 10.0) -> Run:
    """A run after that of the finding, whose nine rounds have been judged."""
    run = timed_run(cast.team, name, wall_s)
    run.rounds.update(verdict_version=0)
    Run.objects.filter(pk=run.pk).update(tags=tags or [])
    return run


@pytest.mark.parametrize("who", ["owner", "member"])
def test_it_is_begun_from_a_finding_and_says_who_when_and_what(cast: Cast, finding: Finding, who: str) -> None:
    client = browser_of(getattr(cast, who))
    new = page(client, f"/investigations/new/?finding={finding.pk}")
    assert "host-07 took 18.0 s for encode" in new
    assert 'value="slow encode"' in new
    row = begun(client, finding)
    assert (row.team, row.project, row.run, row.finding) == (cast.team, "vit-pets", finding.run, finding)
    assert (row.kind, row.phase, row.state, row.made_by) == ("straggler", "encode", "open", getattr(cast, who))
    told = page(client, f"/investigations/{row.pk}/")
    assert FORM["change"] in told
    assert "host-07 took 18.0 s for encode" in told
    assert f"/runs/{finding.run.pk}/" in told
    assert "Investigated already" in page(client, f"/investigations/new/?finding={finding.pk}")
    assert FORM["title"] in page(client, "/investigations/")
    assert FORM["title"] in page(client, "/investigations/?state=open")
    assert FORM["title"] not in page(client, "/investigations/?state=refuted")


def test_a_tag_brings_later_runs_and_the_finding_that_stays_away_passes(cast: Cast, finding: Finding) -> None:
    client = browser_of(cast.member)
    row = begun(client, finding)
    good, bad = later(cast, "good", tags=["threads-fixed"]), later(cast, "bad", tags=["threads-fixed"])
    add_finding(bad, [2])
    make_run(cast.team, "unjudged", tags=["threads-fixed"])
    make_run(cast.team, "before", age_m=700, tags=["threads-fixed"])
    make_run(cast.team, "elsewhere", project="another", tags=["threads-fixed"])
    make_run(cast.other_team, "theirs", tags=["threads-fixed"])
    later(cast, "untagged")
    told = page(client, f"/investigations/{row.pk}/")
    assert "Later runs: 1 passed, 1 failed, 1 not known" in told
    answers = {name: told.split(f"<bdi>{name}</bdi>")[1] for name in ("good", "bad", "unjudged")}
    assert 'data-answer="passed"' in answers["good"].split("</tr>")[0]
    assert "not in 9 judged rounds" in answers["good"]
    assert "it came again, 1 finding" in answers["bad"]
    assert "none of its rounds has been judged" in answers["unjudged"]
    table = told.split("<table>")[1].split("</table>")[0]
    assert not any(name in table for name in ("before", "elsewhere", "theirs", "untagged", "slow-one"))
    assert f'href="/compare/?run={finding.run.pk}&amp;run={good.pk}"' in told
    assert row.added.count() == 0


def test_another_finding_or_one_worth_knowing_only_does_not_fail_it(cast: Cast, finding: Finding) -> None:
    client = browser_of(cast.member)
    row = begun(client, finding)
    run = later(cast, "good", tags=["threads-fixed"])
    add_finding(run, [2], phase="upload")
    Finding.objects.filter(pk=add_finding(run, [3]).pk).update(severity="info")
    assert "Later runs: 1 passed" in page(client, f"/investigations/{row.pk}/")


def test_runs_are_added_and_removed_by_hand(cast: Cast, finding: Finding) -> None:
    client = browser_of(cast.member)
    row, run = begun(client, finding, tag=""), later(cast, "by-hand")
    path = f"/investigations/{row.pk}/"
    assert f'value="{run.pk}"' in page(client, path)
    for _ in range(2):  # twice is once
        assert client.post(path, {"do": "add", "run": str(run.pk)}).status_code == 302
    added = InvestigatedRun.objects.get()
    assert (added.run, added.added_by) == (run, cast.member)
    assert "added by mika" in page(client, path)
    theirs = make_run(cast.other_team, "theirs")
    for wrong in (str(theirs.pk), "nonsense", "", str(finding.run.pk)):
        assert client.post(path, {"do": "add", "run": wrong}).status_code == 404
    for _ in range(2):
        assert client.post(path, {"do": "remove", "run": str(run.pk)}).status_code == 302
    assert not InvestigatedRun.objects.exists()
    written = [row.did for row in AuditRecord.objects.filter(area="investigation").order_by("pk")[1:]]
    assert written == [f"added the run “by-hand” to “{row.title}”", f"took the run “by-hand” from “{row.title}”"]


@pytest.mark.parametrize(
    ("metric", "side", "bound", "answer"),
    [
        ("round_s", "most", "10.5", "passed"), ("round_s", "most", "9.5", "failed"),
        ("round_s", "least", "9.5", "passed"), ("waiting", "most", "25", "passed"), ("waiting", "most", "24", "failed"),
        ("comm", "most", "15", "not known"),
    ],
)  # fmt: skip
def test_a_figure_within_its_bound_passes(
    cast: Cast, finding: Finding, metric: str, side: str, bound: str, answer: str
) -> None:
    client = browser_of(cast.member)
    row = begun(client, finding, check_by="metric", metric=metric, side=side, bound=bound)
    later(cast, "later", tags=["threads-fixed"])
    assert f"Later runs: 1 {answer}" in page(client, f"/investigations/{row.pk}/")


@pytest.mark.parametrize(("most_s", "answer"), [("30", "1 passed"), ("5", "1 failed")])
def test_an_intervals_check_passes_or_fails_a_run(cast: Cast, finding: Finding, most_s: str, answer: str) -> None:
    client = browser_of(cast.owner)
    run = told_run(cast.team, "later").run
    form = {
        "name": "to applied", "begin_which": "last", "begin_of": "end", "begin_name": "aggregate", "end_which": "last",
        "end_of": "end", "end_name": "apply", "most_s": most_s, "of": "run",
    }  # fmt: skip
    client.post(f"/runs/{run.pk}/intervals/", form)
    row = begun(client, finding, check_by="interval", interval="to applied")
    client.post(f"/investigations/{row.pk}/", {"do": "add", "run": str(run.pk)})
    assert "no round has an answer" in page(client, f"/investigations/{row.pk}/")
    judge_intervals(str(run.pk))
    told = page(client, f"/investigations/{row.pk}/")
    assert f"Later runs: {answer}" in told
    assert "the check of “to applied” passes in 19 of 20 rounds" in told


def test_people_say_what_became_of_it(cast: Cast, finding: Finding) -> None:
    row = begun(browser_of(cast.member), finding)
    path = f"/investigations/{row.pk}/"
    owner = browser_of(cast.owner)
    changed = FORM | {"state": "confirmed", "conclusion": "Two of three later runs encode as fast as their peers."}
    assert owner.post(path, changed).status_code == 302
    row.refresh_from_db()
    assert (row.state, row.changed_by, row.made_by) == ("confirmed", cast.owner, cast.member)
    assert changed["conclusion"] in page(browser_of(cast.viewer), path)
    assert owner.post(path, {"do": "delete"}).status_code == 302
    assert not Investigation.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": ""}, {"title": "x" * 161}, {"title": "\u202eyes"}, {"change": ""}, {"change": "a\0b"},
        {"check_by": "luck"}, {"check_by": "interval"}, {"check_by": "metric", "bound": "1"},
        {"check_by": "metric", "metric": "round_s"}, {"check_by": "metric", "metric": "round_s", "bound": "nan"},
        {"check_by": "metric", "metric": "round_s", "bound": "-1"}, {"tag": "a\u200bb"}, {"side": "both"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_and_not_kept(cast: Cast, finding: Finding, wrong: dict[str, str]) -> None:
    answer = browser_of(cast.owner).post(f"/investigations/new/?finding={finding.pk}", FORM | wrong)
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
    assert not Investigation.objects.exists()
    row = begun(browser_of(cast.owner), finding)
    answer = browser_of(cast.owner).post(f"/investigations/{row.pk}/", FORM | {"state": "open"} | wrong)
    assert "errorlist" in answer.content.decode()
    row.refresh_from_db()
    assert row.title == FORM["title"]


def test_viewers_read_and_change_nothing_and_strangers_see_nothing(cast: Cast, finding: Finding) -> None:
    row, run = begun(browser_of(cast.owner), finding), later(cast, "later")
    path, new = f"/investigations/{row.pk}/", f"/investigations/new/?finding={finding.pk}"
    viewer, stranger = browser_of(cast.viewer), browser_of(cast.stranger)
    for one in (path, new):
        told = page(viewer, one)
        assert "Ask an owner or member" in told
        assert "<form" not in told.split("<main")[1].split("</main")[0]
        assert stranger.get(one).status_code == 404
    for form in (FORM | {"state": "refuted"}, {"do": "add", "run": str(run.pk)}, {"do": "delete"}):
        assert viewer.post(path, form).status_code == 403
        assert stranger.post(path, form).status_code == 404
    assert viewer.post(new, FORM).status_code == 403
    assert stranger.post(new, FORM).status_code == 404
    for one in ("/investigations/", "/investigations/new/"):
        assert FORM["title"] not in page(stranger, one)
        assert "host-07" not in page(stranger, one)
    row.refresh_from_db()
    assert (row.state, row.added.count()) == ("open", 0)


def test_it_outlives_the_run_of_its_finding_and_its_later_runs(cast: Cast, finding: Finding) -> None:
    client = browser_of(cast.owner)
    row, run = begun(client, finding), later(cast, "later")
    client.post(f"/investigations/{row.pk}/", {"do": "add", "run": str(run.pk)})
    for one in (finding.run, run):
        assert deletion.begin(one.pk)
    told = page(client, f"/investigations/{row.pk}/")
    assert "host-07 took 18.0 s for encode" in told
    assert "in a run that has been deleted" in told
    assert "Later runs</h2>" in told
    assert FORM["title"] in page(client, "/investigations/")
    changed = FORM | {"state": "refuted"}
    assert client.post(f"/investigations/{row.pk}/", changed).status_code == 302


def test_findings_to_choose_from_are_the_teams_newest(cast: Cast, finding: Finding) -> None:
    Finding.objects.filter(pk=add_finding(finding.run, [9], phase="upload").pk).update(severity="info")
    told = page(browser_of(cast.viewer), "/investigations/new/")
    assert f"/investigations/new/?finding={finding.pk}" in told
    assert "upload" not in told
    for wrong in ("nonsense", "1", "%00"):
        assert browser_of(cast.owner).get(f"/investigations/new/?finding={wrong}").status_code == 404


def test_a_run_leads_to_its_investigations(cast: Cast, finding: Finding) -> None:
    row, run = begun(browser_of(cast.owner), finding), later(cast, "later")
    InvestigatedRun.objects.create(investigation=row, run=run, added_at=NOON)

    def told(one: Run) -> str:
        return Template("{% load investigations %}{% investigations_of run %}").render(Context({"run": one}))

    assert "of a finding in this run" in told(finding.run)
    assert "one of its later runs" in told(run)
    assert told(make_run(cast.team, "nothing")).strip() == ""


def test_names_of_others_are_text(cast: Cast) -> None:
    finding = add_finding(make_run(cast.team, HOSTILE, age_m=60, project=HOSTILE), [1], phase=HOSTILE)
    Finding.objects.update(observed=HOSTILE)
    client = browser_of(cast.owner)
    row = begun(client, finding, title=HOSTILE, change=HOSTILE, tag=HOSTILE, check_by="interval", interval=HOSTILE)
    make_run(cast.team, HOSTILE, project=HOSTILE, tags=[HOSTILE])
    told = "".join(
        page(client, path)
        for path in ("/investigations/", f"/investigations/{row.pk}/", f"/investigations/new/?finding={finding.pk}",
                     "/investigations/new/")
    )  # fmt: skip
    assert HOSTILE not in told
    assert "&lt;/script&gt;" in told


def test_a_number_that_none_has_is_not_found_however_great(cast: Cast) -> None:
    for number in (1, (1 << 63) - 1, 1 << 63, 10**40):
        for path in (f"/investigations/{number}/", f"/compare/held/{number}/"):
            assert browser_of(cast.owner).get(path).status_code == 404
            assert browser_of(cast.owner).post(path).status_code == 404


def test_pages_take_a_bounded_number_of_queries(cast: Cast, finding: Finding) -> None:
    client = browser_of(cast.viewer)
    row = begun(browser_of(cast.owner), finding)
    counts = []
    for more in (1, 6):
        for number in range(more):
            run = make_run(cast.team, f"{more}-{number}", tags=["threads-fixed"])
            add_round(run, 0, 10.0, verdict_version=0)
        with CaptureQueriesContext(connection) as queries:
            page(client, f"/investigations/{row.pk}/")
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 20
