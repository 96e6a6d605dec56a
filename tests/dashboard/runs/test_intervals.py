"""The tab Intervals: members and owners define, viewers read, and nobody else sees."""

import datetime as dt
import re
from threading import Thread

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from ingest.models import Interval, IntervalsDue, PhaseName, Run
from ingest.store import intervals as store
from ingest.tasks import judge_intervals, judge_round
from roundwatch import wire
from tests.cast import Cast, browser_of
from tests.dashboard.runs_of import add_round, add_workers, make_run
from tests.ingest import scenarios
from tests.ingest.playing import eventually
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db
FORM = {
    "name": "to applied", "begin_which": "last", "begin_of": "end", "begin_name": "aggregate", "end_which": "last",
    "end_of": "end", "end_name": "apply", "most_s": "5", "of": "run",
}  # fmt: skip
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def run(cast: Cast) -> Run:
    story = Story(cast.team, scenarios.exchange("exchange", scenarios.crew(2), rounds=2, train=30.0, encode=2.0))
    story.tell()
    return story.run


def judge(run: Run) -> None:
    for index in range(2):
        judge_round(str(run.pk), index, 0)


def page(client: Client, run: Run) -> str:
    answer = client.get(f"/runs/{run.pk}/intervals/")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("who", ["owner", "member"])
def test_an_interval_is_defined_shown_with_its_rounds_changed_and_deleted(cast: Cast, run: Run, who: str) -> None:
    client = browser_of(getattr(cast, who))
    assert client.post(f"/runs/{run.pk}/intervals/", FORM).status_code == 302
    row = Interval.objects.get()
    assert (row.team, row.project, row.run, row.most_s) == (cast.team, run.project, run, 5.0)
    judge(run)
    told = " ".join(page(client, run).split())
    assert "last end of aggregate to last end of apply" in told
    assert "13.0 s <small>failed</small>" in told
    assert "≤ 5 s" in told
    edit = f"/runs/{run.pk}/intervals/{row.pk}/"
    assert 'value="to applied"' in client.get(edit).content.decode()
    assert client.post(edit, FORM | {"most_s": "", "of": "project"}).status_code == 302
    row.refresh_from_db()
    assert (row.most_s, row.run) == (None, None)
    # What was measured by another definition is not shown, and the page asks again until it is measured by this one.
    told = page(client, run)
    assert 'title="being measured"' in told
    assert 'hx-trigger="every 3s"' in told
    (seen,) = re.findall(r'"seen": "(\w+)"', told)
    again = {"path": f"/runs/{run.pk}/intervals/?seen={seen}", "headers": {"HX-Request": "true"}}
    assert client.get(**again).status_code == 204
    judge_intervals(str(run.pk))
    part = client.get(**again).content.decode()
    assert "13.0" in part
    assert "hx-trigger" not in part
    assert "<html" not in part
    assert client.post(edit, {"do": "delete"}).status_code == 302
    assert not Interval.objects.exists()


def test_the_newest_round_comes_first(cast: Cast, run: Run) -> None:
    judge(run)
    told = page(browser_of(cast.viewer), run)
    assert re.findall(r"\?round=(\d+)", told) == ["1", "0"]
    assert "The last 2 closed rounds, the newest first." in told


def test_steps_too_short_to_be_measured_one_by_one_are_said_to_be_and_called_steps(cast: Cast) -> None:
    run = make_run(cast.team)
    add_workers(run, ["a", "b"])
    PhaseName.objects.create(run=run, index=0, name="allreduce", kind=wire.KINDS.index("transfer"))
    add_round(run, 0, 0.5, verdict_version=0)
    told = " ".join(page(browser_of(cast.member), run).split())
    assert "Steps this short are not measured one by one" in told
    assert 'title="a step this short is measured by itself when it is opened in the timeline"' in told
    assert "being" not in told
    assert "hx-trigger" not in told
    assert not re.search(r"\brounds?\b", re.sub(r"<[^>]*>", "", told.split("<main")[1].split("</main")[0]))


def test_what_has_failed_to_be_measured_is_said_and_not_asked_for_without_end(cast: Cast, run: Run) -> None:
    judge(run)
    IntervalsDue.objects.create(run=run, asked_at=timezone.now() + dt.timedelta(minutes=9))
    told = page(browser_of(cast.viewer), run)
    assert "it is tried again within ten minutes" in told
    assert "hx-trigger" not in told


def test_viewers_read_and_change_nothing_and_strangers_see_nothing(cast: Cast, run: Run) -> None:
    browser_of(cast.owner).post(f"/runs/{run.pk}/intervals/", FORM)
    edit = f"/runs/{run.pk}/intervals/{Interval.objects.get().pk}/"
    viewer = browser_of(cast.viewer)
    assert "Ask an owner or member" in page(viewer, run)
    assert "<form" not in page(viewer, run).split("<main")[1].split("</main")[0]
    assert "Ask an owner or member" in viewer.get(edit).content.decode()
    for path, form in ((f"/runs/{run.pk}/intervals/", FORM), (edit, FORM), (edit, {"do": "delete"})):
        assert viewer.post(path, form).status_code == 403
        assert browser_of(cast.stranger).post(path, form).status_code == 404
    assert Interval.objects.get().most_s == 5.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": "x" * 65}, {"name": "\u202eyes"}, {"name": "a\x00b"},
        {"name": "a\u200bb"}, {"name": "a\nb"}, {"name": "a\u3164b"}, {"begin_name": ""},
        {"begin_of": "middle"}, {"most_s": "0"}, {"most_s": "nan"}, {"most_s": "inf"}, {"most_s": "soon"},
        {"most_s": "1e7"}, {"of": "team"}, {"begin_name": "apply"}, {"end_name": "x" * 129},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_and_not_kept(cast: Cast, run: Run, wrong: dict[str, str]) -> None:
    answer = browser_of(cast.owner).post(f"/runs/{run.pk}/intervals/", FORM | wrong)
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
    assert not Interval.objects.exists()


def test_a_name_is_of_one_interval_in_a_run_and_in_its_project_and_they_are_not_without_end(
    cast: Cast, run: Run
) -> None:
    client = browser_of(cast.owner)
    path = f"/runs/{run.pk}/intervals/"
    for of in ("run", "project"):
        assert client.post(path, FORM | {"of": of}).status_code == 302
        assert "of this name already" in client.post(path, FORM | {"of": of}).content.decode()
    assert "this run has its own of that name" in page(client, run)
    for number in range(store.MOST - 1):
        assert client.post(path, FORM | {"name": f"i{number}"}).status_code == 302
    assert "more are not measured" in client.post(path, FORM | {"name": "one more"}).content.decode()


def test_names_of_others_are_text(cast: Cast, run: Run) -> None:
    client = browser_of(cast.owner)
    named = FORM | {"name": HOSTILE, "begin_name": HOSTILE}
    assert client.post(f"/runs/{run.pk}/intervals/", named, follow=True).status_code == 200
    told = page(client, run) + client.get(f"/runs/{run.pk}/intervals/{Interval.objects.get().pk}/").content.decode()
    assert HOSTILE not in told
    assert "&lt;/script&gt;" in told


@pytest.mark.parametrize(
    ("most_s", "told"),
    [
        ("", "“to applied” is measured from now on, and in earlier rounds when they are opened.\n"),
        ("5", "opened. Its check is judged anew over the newest window of rounds and up to twenty before it.\n"),
    ],
)
def test_it_is_said_of_which_rounds_it_is_measured(cast: Cast, run: Run, most_s: str, told: str) -> None:
    answer = browser_of(cast.owner).post(f"/runs/{run.pk}/intervals/", FORM | {"most_s": most_s}, follow=True)
    (message,) = answer.context["messages"]
    assert f"{message}\n".endswith(told)


def test_a_number_that_no_interval_has_is_not_found_however_great(cast: Cast, run: Run) -> None:
    for number in (1, (1 << 63) - 1, 1 << 63, 1 << 70, 10**40):
        for client in (browser_of(cast.owner), browser_of(cast.viewer)):
            assert client.get(f"/runs/{run.pk}/intervals/{number}/").status_code == 404
            assert client.post(f"/runs/{run.pk}/intervals/{number}/", FORM).status_code == 404


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_of_two_that_define_the_same_name_at_once_the_second_is_told_so(cast: Cast) -> None:
    story = Story(cast.team, scenarios.exchange("exchange", scenarios.crew(2), rounds=1, train=30.0, encode=2.0))
    story.tell()
    run = story.run
    client = browser_of(cast.member)
    answers = []

    def define() -> None:
        answers.append(client.post(f"/runs/{run.pk}/intervals/", FORM))
        connection.close()

    second = Thread(target=define)
    with transaction.atomic():
        row = {name: value for name, value in FORM.items() if name not in {"of", "most_s"}}
        Interval.objects.create(team=cast.team, project=run.project, run=run, **row)
        second.start()
        eventually(waits_for_a_lock)
    second.join(20)
    assert "There is one of this name already." in answers[0].content.decode()
    assert Interval.objects.count() == 1
