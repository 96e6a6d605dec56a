"""Naming, tagging, starring, archiving and deleting runs, one at a time and several: who may, and what comes of it."""

import re

import pytest
from django.utils import timezone

from dashboard.runs.models import ChosenColumns, SavedView, Star
from dashboard.runs.notes import rendered
from dashboard.teams.models import AuditRecord, Membership
from ingest.models import Finding, Round, Run, Stream
from roundwatch import wire
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_finding, add_round, add_workers, make_run, settle

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\"'&\u202e"


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(cast.team, "alpha", tags=["keep"])


def messages_of(client: object, path: str = "/") -> str:
    text = client.get(path).content.decode()  # type: ignore[attr-defined]
    found = re.search(r'<ul class="messages".*?</ul>', text, re.DOTALL)
    return found[0] if found else ""


@pytest.mark.parametrize("who", ["owner", "member"])
def test_owners_and_members_name_tag_and_describe_a_run(cast: Cast, run: Run, who: str) -> None:
    client = browser_of(getattr(cast, who))
    form = {"name": "beta", "tags": " keep,  two  words , keep", "notes": "A **note**.", "next": "/?tag=keep"}
    answer = client.post(f"/runs/{run.pk}/edit/", form)
    assert answer["Location"] == "/?tag=keep"
    run.refresh_from_db()
    assert (run.name, run.tags, run.notes) == ("beta", ["keep", "two words"], "A **note**.")
    assert "<strong>note</strong>" in client.get(f"/runs/{run.pk}/edit/").content.decode()


@pytest.mark.parametrize(
    "do", [{"name": "beta"}, {"do": "archive"}, {"do": "restore"}, {"do": "save", "name": "b"}, {"do": "nonsense"}]
)
def test_a_viewer_changes_nothing_but_stars(cast: Cast, run: Run, do: dict[str, str]) -> None:
    client = browser_of(cast.viewer)
    assert client.post(f"/runs/{run.pk}/edit/", do).status_code == 403
    assert client.post(f"/runs/{run.pk}/delete/").status_code == 403
    assert client.post("/runs/act/", {"do": do.get("do", "tag"), "run": str(run.pk)}).status_code in {400, 403}
    assert client.post("/runs/act/", {"do": "delete", "run": str(run.pk), "sure": "yes"}).status_code == 403
    run.refresh_from_db()
    assert (run.name, run.archived_at) == ("alpha", None)
    assert client.post(f"/runs/{run.pk}/edit/", {"do": "star"}).status_code == 302
    assert client.post("/runs/act/", {"do": f"star:{run.pk}"}).status_code == 302
    assert Star.objects.get().user == cast.viewer
    assert client.post("/runs/act/", {"do": "unstar", "run": str(run.pk)}).status_code == 302
    assert not Star.objects.exists()
    page = client.get(f"/runs/{run.pk}/edit/").content.decode()
    assert "<textarea" not in page
    assert "Delete…" not in client.get("/").content.decode()


def test_a_stranger_finds_no_run_to_act_on(cast: Cast, run: Run) -> None:
    client = browser_of(cast.stranger)
    own = make_run(cast.other_team, "own")
    for path in (f"/runs/{run.pk}/edit/", f"/runs/{run.pk}/delete/"):
        assert client.post(path, {"do": "star"}).status_code == 404
    for do in ("star", "tag", "archive", "delete"):
        asked = {"do": do, "run": [str(own.pk), str(run.pk)], "tag": "x", "sure": "yes"}
        assert client.post("/runs/act/", asked).status_code == 404
        assert client.post("/runs/act/", {"do": f"{do}:{run.pk}"}).status_code == 404
    assert client.post("/runs/act/", {"do": "star", "run": "nonsense"}).status_code == 404
    run.refresh_from_db()
    assert (run.tags, run.archived_at, Run.objects.count(), Star.objects.count()) == (["keep"], None, 2, 0)


def test_what_is_no_act_is_refused(cast: Cast, run: Run) -> None:
    assert browser_of(cast.owner).post("/runs/act/", {"do": "explode", "run": str(run.pk)}).status_code == 400
    assert browser_of(cast.owner).get("/runs/act/").status_code == 405


@pytest.mark.parametrize(
    "form",
    [
        {"name": ""}, {"name": "x" * 129}, {"name": "a\0b"}, {"name": "a", "tags": "t" * 129},
        {"name": "a", "tags": ",".join(f"t{n}" for n in range(101))}, {"name": "a", "tags": "a\u202eb"},
        {"name": "a", "notes": "n" * 20_001},
    ],
)  # fmt: skip
def test_what_no_run_can_be_called_is_said_and_not_stored(cast: Cast, run: Run, form: dict[str, str]) -> None:
    answer = browser_of(cast.owner).post(f"/runs/{run.pk}/edit/", form)
    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    run.refresh_from_db()
    assert (run.name, run.tags) == ("alpha", ["keep"])


@pytest.mark.parametrize("away", ["https://example.org/", "//example.org/", "javascript:alert(1)", "\\\\example.org"])
def test_no_form_leads_away_from_the_site(cast: Cast, run: Run, away: str) -> None:
    answer = browser_of(cast.owner).post(f"/runs/{run.pk}/edit/", {"do": "star", "next": away})
    assert answer["Location"] == f"/runs/{run.pk}/"


def test_several_runs_are_tagged_untagged_archived_and_taken_out_again(cast: Cast, run: Run) -> None:
    other = make_run(cast.team, "beta")
    client, both = browser_of(cast.member), [str(run.pk), str(other.pk)]
    client.post("/runs/act/", {"do": "tag", "run": both, "tag": "keep, best"})
    assert [each.tags for each in Run.objects.order_by("name")] == [["keep", "best"], ["keep", "best"]]
    client.post("/runs/act/", {"do": "untag", "run": both, "tag": "keep"})
    assert [each.tags for each in Run.objects.all()] == [["best"], ["best"]]
    client.post("/runs/act/", {"do": "archive", "run": both})
    assert not Run.objects.filter(archived_at=None).exists()
    client.post("/runs/act/", {"do": f"restore:{run.pk}"})
    assert Run.objects.get(archived_at=None) == run


def test_no_tag_is_added_beyond_a_runs_hundred(cast: Cast, run: Run) -> None:
    run.tags = [f"t{number}" for number in range(100)]
    run.save()
    client = browser_of(cast.owner)
    client.post("/runs/act/", {"do": "tag", "run": str(run.pk), "tag": "one more"})
    assert "1 would have more than 100 tags" in messages_of(client)
    run.refresh_from_db()
    assert len(run.tags) == 100


def test_deleting_asks_first_and_says_what_goes(cast: Cast, run: Run) -> None:
    add_workers(run, ["m-1", "m-2"])
    add_round(run, 0, 1.0)
    add_finding(run, [0])
    client = browser_of(cast.owner)
    for text in (
        client.get(f"/runs/{run.pk}/delete/").content.decode(),
        client.post("/runs/act/", {"do": "delete", "run": str(run.pk)}).content.decode(),
    ):
        words = " ".join(re.sub(r"<[^>]+>", " ", text).split())
        assert "2 workers, 1 round with all phases" in words
        assert "1 finding with their alerts" in words
        assert "still running." in words
    assert Run.objects.count() == 1


@pytest.mark.parametrize("several", [False, True])
def test_what_is_deleted_is_gone_and_its_stream_takes_no_more(cast: Cast, run: Run, several: bool) -> None:
    (worker,) = add_workers(run, ["m-1"])
    Stream.objects.create(
        team=cast.team, uid=run.pk, worker=worker, run=run, began_at=timezone.now(), heard_at=timezone.now()
    )
    add_round(run, 0, 1.0)
    add_finding(run, [0])
    other = make_run(cast.team, "beta", config={"lr": 1})
    settle()
    client = browser_of(cast.member)
    if several:
        client.post("/runs/act/", {"do": "delete", "run": [str(run.pk), str(other.pk)], "sure": "yes"})
    else:
        client.post(f"/runs/{run.pk}/delete/")
    assert ("2 runs are deleted." if several else "“alpha” is deleted.") in messages_of(client)
    assert Run.objects.count() == (0 if several else 1)
    assert Stream.objects.get().deleted
    assert not Round.objects.exists()
    assert not Finding.objects.exists()


def test_a_star_in_the_list_answers_a_page_with_word_to_refresh(cast: Cast, run: Run) -> None:
    answer = browser_of(cast.viewer).post(f"/runs/{run.pk}/edit/", {"do": "star"}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Trigger"]) == (204, "acted")
    assert f'value="unstar:{run.pk}"' in browser_of(cast.viewer).get("/").content.decode()
    assert f'value="star:{run.pk}"' in browser_of(cast.owner).get("/").content.decode()


def test_a_view_is_saved_for_the_team_and_deleted_by_who_saved_it(cast: Cast) -> None:
    member, owner = browser_of(cast.member), browser_of(cast.owner)
    query = "?config=lr+%3C+1e-3&sort=-gpu_hours&secret=1&after=5"
    member.post(f"/runs/views/{query}", {"name": " Low  rates ", "do": "save"})
    view = SavedView.objects.get()
    assert (view.name, view.query) == ("Low rates", "config=lr+%3C+1e-3&sort=-gpu_hours")
    assert "Low rates" in owner.get("/").content.decode()
    assert browser_of(cast.viewer).post("/runs/views/", {"do": "delete", "view": view.pk}).status_code == 403
    assert browser_of(cast.viewer).post("/runs/views/", {"name": "mine"}).status_code == 403
    assert browser_of(cast.stranger).post("/runs/views/", {"do": "delete", "view": view.pk}).status_code == 404
    assert "Low rates" not in browser_of(cast.stranger).get("/").content.decode()
    owner.post("/runs/views/?tag=x", {"name": "Low rates"})
    assert "which somebody else saved" in messages_of(owner)
    member.post("/runs/views/?tag=y", {"name": "Low rates"})
    view.refresh_from_db()
    assert view.query == "tag=y"
    assert member.post("/runs/views/", {"do": "delete", "view": view.pk})["Location"] == "/"
    assert not SavedView.objects.exists()
    written = AuditRecord.objects.filter(team=cast.team.pk, area="team").order_by("pk")
    told = "view “Low rates” of the list of runs"
    assert [row.did for row in written] == [f"saved the {told}", f"saved the {told}", f"deleted the {told}"]


def test_an_owner_deletes_views_of_others_and_a_member_does_not(cast: Cast) -> None:
    browser_of(cast.owner).post("/runs/views/?tag=x", {"name": "of an owner"})
    browser_of(cast.member).post("/runs/views/?tag=y", {"name": "of one who left"})
    kept, left = SavedView.objects.order_by("pk")
    Membership.objects.filter(user=cast.member).update(user=cast.stranger)
    member, owner = browser_of(cast.stranger), browser_of(cast.owner)
    member.post("/teams/vision-team/")
    assert member.post("/runs/views/", {"do": "delete", "view": kept.pk}).status_code == 404
    assert 'aria-label="Delete the view of one who left"' in owner.get("/").content.decode()
    assert owner.post("/runs/views/", {"do": "delete", "view": left.pk})["Location"] == "/"
    assert SavedView.objects.get() == kept


@pytest.mark.parametrize("name", ["", "  ", "x" * 65, "a\u202eb", "a\0b"])
def test_a_view_without_a_name_that_can_be_seen_is_not_saved(cast: Cast, name: str) -> None:
    client = browser_of(cast.owner)
    client.post("/runs/views/?tag=x", {"name": name})
    assert "A view&#x27;s name has" in messages_of(client)
    assert not SavedView.objects.exists()


def test_a_view_of_a_page_made_for_another_team_is_not_saved(cast: Cast) -> None:
    client = browser_of(cast.owner)
    client.post("/runs/views/?tag=x", {"name": "mine", "team": "other-team"})
    assert "Nothing was saved" in messages_of(client)
    assert not SavedView.objects.exists()


def test_columns_are_each_persons_own(cast: Cast, run: Run) -> None:
    client = browser_of(cast.viewer)
    client.post("/runs/columns/", {"column": ["tags", "throughput", "nonsense"]})
    assert ChosenColumns.objects.get().names == ["throughput", "tags"]
    head = client.get("/").content.decode()
    assert re.findall(r'<td data-label="([^"]+)"', head) == ["Items/s", "Tags"]
    assert 'data-label="State"' in browser_of(cast.owner).get("/").content.decode()
    client.post("/runs/columns/", {})
    assert 'data-label="State"' in client.get("/").content.decode()


@pytest.mark.parametrize(
    "note",
    [
        "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "[a](data:text/html,x)", "![a](https://example.org/x.png)",
        "<a href='x' onclick='y'>", "`<b>`", "[a](x \"' onmouseover='y\")", "&lt;script&gt;", HOSTILE,
        "[a](\njavascript:alert(1))", "<javascript:alert(1)>",
    ],
)  # fmt: skip
def test_no_note_brings_markup_of_its_own(note: str) -> None:
    html = rendered(note)
    assert not re.search(r"<(img|script|b|iframe)\b", html)
    assert not re.search(r"<[^>]*\bon\w+\s*=\s*['\"]?\w", re.sub(r'"[^"]*"', '""', html))
    assert not re.search(r'(href|src)="(javascript|data|vbscript|file):', html)
    assert "\u202e" not in html


def test_a_note_may_have_lists_tables_links_and_code() -> None:
    html = rendered("# A\n\n* b\n\n| c | d |\n| - | - |\n| 1 | 2 |\n\n[e](https://example.org) `f` ~~g~~")
    for part in ("<h1>", "<li>b</li>", "<td>1</td>", "<code>f</code>", "<s>g</s>"):
        assert part in html
    assert '<a href="https://example.org" rel="nofollow noopener noreferrer">e</a>' in html


def test_hostile_names_tags_and_notes_are_text_on_every_page(cast: Cast) -> None:
    run = make_run(
        cast.team, HOSTILE, project=HOSTILE, tags=[HOSTILE], notes=HOSTILE, person=HOSTILE, devices=[HOSTILE]
    )
    SavedView.objects.create(team=cast.team, name=HOSTILE, query="tag=x", made_by=cast.owner)
    client = browser_of(cast.owner)
    client.post("/runs/columns/", {"column": ["tags", "person", "gpus"]})
    for path in (
        "/",
        f"/?q={HOSTILE}&tag={HOSTILE}&config={HOSTILE}",
        f"/runs/{run.pk}/edit/",
        f"/runs/{run.pk}/delete/",
    ):
        text = client.get(path).content.decode()
        assert "<script>alert" not in text, path
        assert "&lt;script&gt;alert(1)" in text, path


def test_what_is_done_to_runs_is_written_down_with_who_did_it(cast: Cast, run: Run) -> None:
    other = make_run(cast.team, "beta")
    client, both = browser_of(cast.member), [str(run.pk), str(other.pk)]
    client.post(f"/runs/{run.pk}/edit/", {"name": "gamma", "tags": "keep", "notes": ""})
    client.post("/runs/act/", {"do": "tag", "run": both, "tag": "best"})
    client.post("/runs/act/", {"do": "archive", "run": str(other.pk)})
    client.post(f"/runs/{run.pk}/edit/", {"do": "archive"})
    client.post("/runs/act/", {"do": "delete", "run": str(other.pk), "sure": "yes"})
    client.post(f"/runs/{run.pk}/delete/")
    rows = AuditRecord.objects.filter(team=cast.team.pk, area="run").order_by("pk")
    assert {row.who for row in rows} == {"mika"}
    assert [row.did for row in rows] == [
        "changed name of the run “alpha”",
        "added the tags best to 2 runs: “gamma”, “beta”",
        "archived the run “beta”",
        "archived the run “gamma”",
        "deleted the run “beta”",
        "deleted the run “gamma”",
    ]


@pytest.mark.parametrize("who", ["owner", "member", "viewer"])
def test_chosen_runs_are_compared(cast: Cast, run: Run, who: str) -> None:
    both = [str(run.pk), str(make_run(cast.team, "beta").pk)]
    answer = browser_of(getattr(cast, who)).post("/runs/act/", {"do": "compare", "run": both})
    assert answer.status_code == 302
    assert [f"run={key}" for key in both] == answer["Location"].removeprefix("/compare/?").split("&")


def test_more_runs_than_can_be_compared_are_refused_with_the_number(cast: Cast, run: Run) -> None:
    seven = [str(run.pk), *(str(make_run(cast.team, f"more-{number}").pk) for number in range(6))]
    client = browser_of(cast.viewer)
    answer = client.post("/runs/act/", {"do": "compare", "run": seven, "next": "/?tag=x"})
    assert answer["Location"] == "/?tag=x"
    assert "At most 6 runs are compared at a time; 7 are chosen." in messages_of(client)
    answer = client.post("/runs/act/", {"do": "compare", "run": seven[:6]})
    assert client.get(answer["Location"]).status_code == 200


@pytest.mark.parametrize(
    "note", ["界" * 20_000, "a-" * 10_000, "x" * 20_000, "\U0001f600 " * 10_000, "a\u0301" * 10_000]
)
def test_the_longest_texts_are_kept(cast: Cast, run: Run, note: str) -> None:
    tags = [f"{'界' * 120}{number}" for number in range(wire.MAX_TAGS)]
    form = {"name": "\U0001f600" * wire.MAX_NAME_CHARS, "tags": ",".join(tags), "notes": note}
    assert browser_of(cast.member).post(f"/runs/{run.pk}/edit/", form).status_code == 302
    run.refresh_from_db()
    assert (run.name, run.tags, run.notes) == (form["name"], tags, note.strip())
