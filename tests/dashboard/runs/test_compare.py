"""The page that compares runs: what differs, when a speed-up is said, and what stands side by side."""

import re
import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.runs.models import Comparable
from dashboard.teams.models import Membership
from ingest.models import Run
from ingest.tasks import judge_intervals
from tests.cast import Cast, browser_of
from tests.dashboard.runs.compared import timed_run, told_run
from tests.dashboard.runs_of import make_run
from tests.ingest.batches import Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db
HOSTILE = "</script><img src=x onerror=alert(1)>"
WHY = "Both drivers were measured on one host, and rounds took as long."


def query(*sides: list[Run]) -> str:
    return "&".join(f"{letter}={run.pk}" for letter, runs in zip("abcdef", sides, strict=False) for run in runs)


def page(client: Client, asked: str) -> str:
    answer = client.get(f"/compare/?{asked}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().replace("\N{NO-BREAK SPACE}", " ").split())


def repeated(cast: Cast, **of_b: str) -> str:
    """Two runs of 10 s a round, and two of 8 s, whose conditions are the same but for `of_b`."""
    was = [timed_run(cast.team, f"was-{number}", 10 + number / 10) for number in range(2)]
    now = [timed_run(cast.team, f"now-{number}", 8 + number / 10, **of_b) for number in range(2)]
    return query(was, now)


def test_repeated_runs_in_equal_conditions_have_a_speed_up_with_its_range(cast: Cast) -> None:
    told = page(browser_of(cast.viewer), repeated(cast))
    assert "B is 1.25 × as fast as A (1.23 to 1.26 over all pairs of runs)." in told
    assert "No speed-up is said" not in told
    assert "No conditions differ." in told
    assert "not known" not in told.split('aria-label="Key figures"')[0]
    # What was set otherwise is told, and is no condition.
    assert "Differences in configuration" in told


@pytest.mark.parametrize("who", ["owner", "viewer"])
def test_conditions_that_differ_are_named_and_no_speed_up_is_said(cast: Cast, who: str) -> None:
    told = page(browser_of(getattr(cast, who)), repeated(cast, driver="560.28"))
    assert "as fast as" not in told
    assert re.search(r"<b>Conditions differ</b>: <bdi>device driver</bdi>", told)
    table = told.split('aria-label="Differences in conditions"')[1].split("</table>")[0]
    assert "device driver" in table
    assert "560.28" in table
    assert "torch" not in table
    assert ("Hold conditions comparable" in told) == (who == "owner")


def test_a_condition_that_one_run_did_not_tell_is_not_called_equal(cast: Cast) -> None:
    was = [timed_run(cast.team, f"was-{number}", 10) for number in range(2)]
    now = [timed_run(cast.team, f"now-{number}", 8, cuda="12.4") for number in range(2)]
    told = page(browser_of(cast.owner), query(was, now))
    assert "Conditions are not known of every run</b>: <bdi>CUDA" in told
    assert "as fast as" not in told


def test_one_run_a_side_was_not_repeated(cast: Cast) -> None:
    was, now = timed_run(cast.team, "was", 10), timed_run(cast.team, "now", 5)
    told = page(browser_of(cast.owner), f"run={was.pk}&run={now.pk}")
    assert "<b>Not repeated</b>: <bdi>A, B</bdi>" in told
    assert "as fast as" not in told
    assert "10.0 s [10.0 s to 10.0 s]" in told
    assert "8 rounds" in told
    assert "1 round of warm-up left out" in told


def test_a_difference_within_that_of_equal_runs_is_none(cast: Cast) -> None:
    was = [timed_run(cast.team, f"was-{number}", wall_s) for number, wall_s in enumerate((9, 11))]
    now = [timed_run(cast.team, f"now-{number}", wall_s) for number, wall_s in enumerate((8, 10))]
    assert "No difference between B and A beyond that of equal runs" in page(browser_of(cast.owner), query(was, now))


def test_what_is_slower_is_said_so(cast: Cast) -> None:
    was = [timed_run(cast.team, f"was-{number}", 5) for number in range(2)]
    now = [timed_run(cast.team, f"now-{number}", 10) for number in range(2)]
    assert "B takes 2.00 × as long as A" in page(browser_of(cast.owner), query(was, now))


def test_a_member_holds_conditions_comparable_on_record_and_revokes_it(cast: Cast) -> None:
    asked, member = repeated(cast, driver="560.28"), browser_of(cast.member)
    form = {"conditions": ["driver"], "reason": WHY}
    assert member.post(f"/compare/held/?{asked}", form).status_code == 302
    row = Comparable.objects.get()
    assert (row.team, row.made_by, row.reason, row.revoked_at) == (cast.team, cast.member, WHY, None)
    assert [condition["name"] for condition in row.conditions] == ["driver"]
    told = page(browser_of(cast.viewer), asked)
    assert "B is 1.25 × as fast as A" in told
    assert WHY in told
    assert "by mika" in told
    assert "Revoke" not in told
    assert WHY in browser_of(cast.viewer).get("/compare/held/").content.decode()
    answer = member.post(f"/compare/held/{row.pk}/", {"back": asked})
    assert answer["Location"] == f"/compare/?{asked}"
    row.refresh_from_db()
    assert row.revoked_by == cast.member
    assert "as fast as" not in page(member, asked)
    kept = member.get("/compare/held/").content.decode()
    assert WHY in kept
    assert "revoked" in kept


def test_it_holds_for_just_these_values_in_whichever_runs(cast: Cast) -> None:
    member = browser_of(cast.member)
    member.post(f"/compare/held/?{repeated(cast, driver='560.28')}", {"conditions": ["driver"], "reason": WHY})
    assert "as fast as" in page(member, repeated(cast, driver="560.28"))
    assert "as fast as" not in page(member, repeated(cast, driver="570.1"))
    assert "as fast as" not in page(member, repeated(cast, driver="560.28", torch="2.10"))


@pytest.mark.parametrize(
    "wrong",
    [{"conditions": []}, {"reason": " "}, {"conditions": ["torch"]}, {"reason": "a\0b"}, {"reason": "x" * 1001}],
)
def test_nothing_is_recorded_without_a_reason_or_of_what_does_not_differ(cast: Cast, wrong: dict[str, str]) -> None:
    asked = repeated(cast, driver="560.28")
    answer = browser_of(cast.owner).post(
        f"/compare/held/?{asked}", {"conditions": ["driver"], "reason": WHY} | wrong, follow=True
    )
    assert "Nothing was recorded" in answer.content.decode()
    assert not Comparable.objects.exists()


def test_viewers_hold_nothing_comparable_and_strangers_see_nothing(cast: Cast) -> None:
    asked = repeated(cast, driver="560.28")
    form = {"conditions": ["driver"], "reason": WHY}
    browser_of(cast.owner).post(f"/compare/held/?{asked}", form)
    row = Comparable.objects.get()
    for who, status in ((cast.viewer, 403), (cast.stranger, 404)):
        client = browser_of(who)
        assert client.post(f"/compare/held/?{asked}", form).status_code == status
        assert client.post(f"/compare/held/{row.pk}/").status_code == status
    stranger = browser_of(cast.stranger)
    assert stranger.get(f"/compare/?{asked}").status_code == 404
    assert WHY not in stranger.get("/compare/held/").content.decode()
    assert "was-0" not in stranger.get("/compare/?q=was").content.decode()
    row.refresh_from_db()
    assert (row.revoked_at, Comparable.objects.count()) == (None, 1)


def test_runs_that_cannot_be_compared_are_not_found(cast: Cast) -> None:
    mine, theirs = make_run(cast.team, "mine"), make_run(cast.other_team, "theirs")
    client = browser_of(cast.owner)
    many = "&".join(f"run={make_run(cast.team, f'run-{number}').pk}" for number in range(7))
    crowd = "&".join(f"a={make_run(cast.team, f'more-{number}').pk}" for number in range(13))
    for asked in (f"run={mine.pk}&run={theirs.pk}", f"run={uuid.uuid4()}", "run=1", "a=x", "run=%00", many, crowd):
        assert client.get(f"/compare/?{asked}").status_code == 404, asked


def test_runs_of_two_teams_are_not_compared_even_by_who_is_in_both(cast: Cast) -> None:
    Membership.objects.create(team=cast.other_team, user=cast.owner)
    mine, theirs = make_run(cast.team, "mine"), make_run(cast.other_team, "theirs")
    client = browser_of(cast.owner)
    assert client.get(f"/compare/?run={mine.pk}&run={theirs.pk}").status_code == 404
    assert client.get(f"/compare/?run={mine.pk}").status_code == 200


def test_runs_are_found_and_added_to_a_side_or_as_one(cast: Cast) -> None:
    first, second = make_run(cast.team, "vit-first"), make_run(cast.team, "vit-second")
    client = browser_of(cast.viewer)
    assert f'href="/compare/?run={first.pk}"' in page(client, "q=vit-f")
    told = page(client, f"run={first.pk}&q=vit")
    assert f'href="/compare/?run={first.pk}&amp;run={second.pk}"' in told
    assert f'href="/compare/?a={first.pk}&amp;a={second.pk}"' in told
    # A run that is asked for twice counts once.
    assert "<b>Not repeated</b>" in page(client, f"a={first.pk}&a={first.pk}&b={second.pk}&b={first.pk}")
    assert "No other run of the team" in page(client, "q=nothing-like-it")
    assert "No other run of the team" in page(client, "q=%00")


def test_runs_without_any_round_are_compared_by_what_is_known(cast: Cast) -> None:
    runs = [make_run(cast.team, f"run-{number}") for number in range(2)]
    told = page(browser_of(cast.owner), "&".join(f"run={run.pk}" for run in runs))
    assert "Too few closed rounds" in told
    assert "None of them has a closed round" in told
    assert "No phases of closed rounds are kept" in told


def test_figures_of_phases_analyses_memory_and_intervals_stand_side_by_side(cast: Cast) -> None:
    stories = [told_run(cast.team, "slow", encode=12.0), told_run(cast.team, "quick", encode=2.0)]
    slow, quick = (story.run for story in stories)
    told = page(browser_of(cast.viewer), f"run={slow.pk}&run={quick.pk}")
    figures = told.split('aria-label="Key figures by run"')[1].split("</table>")[0]
    rows = {
        re.sub(r"<.*?>", "", row.split("</summary>")[0]).strip(): re.findall(r'class="number">(.*?)</td>', row)
        for row in figures.split("<tr>")[2:]
    }
    assert {"Round time", "GPU waiting", "Comm share", "Exposed share", "Coverage"} <= set(rows)
    assert "aggregation to sync start" not in rows  # the scenario has no sync
    assert rows["Memory peak, coordinator process"] == ['5.0 model copies<small class="muted">5.0 GiB</small>'] * 2
    assert rows["Memory peak, trainer process"] == ['3.0 model copies<small class="muted">3.0 GiB</small>'] * 2
    assert all("3 rounds" in cell for cell in rows["Comm share"])
    # Both encode as long as they do, in every round after warm-up.
    assert (
        'aria-label="A: median 12.0 s, half of them 12.0 s to 12.0 s, nine in ten 12.0 s to 12.0 s, 6 phases"' in told
    )
    assert (
        'aria-label="B: median 2.00 s, half of them 2.00 s to 2.00 s, nine in ten 2.00 s to 2.00 s, 6 phases"' in told
    )


def test_an_interval_with_a_check_is_a_figure(cast: Cast) -> None:
    stories = [told_run(cast.team, key) for key in ("one", "two")]
    form = {
        "name": "to applied", "begin_which": "last", "begin_of": "end", "begin_name": "aggregate", "end_which": "last",
        "end_of": "end", "end_name": "apply", "most_s": "5", "of": "project",
    }  # fmt: skip
    client = browser_of(cast.owner)
    client.post(f"/runs/{stories[0].run.pk}/intervals/", form)
    for story in stories:
        judge_intervals(str(story.run.pk))
    told = page(client, "&".join(f"run={story.run.pk}" for story in stories))
    assert "to applied" in told.split('aria-label="Key figures by run"')[1]
    assert "of 3 within 5 s" in told


def test_one_round_of_each_is_drawn_on_a_common_axis(cast: Cast) -> None:
    slow, quick = (told_run(cast.team, key, encode=encode).run for key, encode in (("slow", 12.0), ("quick", 2.0)))
    client = browser_of(cast.viewer)
    told = page(client, f"run={slow.pk}&run={quick.pk}&round=2&round=1")
    assert f'href="/runs/{slow.pk}/?round=2"' in told
    assert f'href="/runs/{quick.pk}/?round=1"' in told
    pictures = re.findall(r'<svg class="bars".*?</svg>', told)
    assert len(pictures) == 2
    # Both reach as far as the longer of the two rounds, which is as long as its wall.
    boxes = [re.search(r'viewBox="0 0 ([\d.]+) ', one)[1] for one in pictures]  # type: ignore[index]
    assert len(set(boxes)) == 1
    assert f'x1="{boxes[0]}"' in pictures[0]
    assert f'x1="{boxes[0]}"' not in pictures[1]
    for one, encode in zip(pictures, ("12.0 s", "2.00 s"), strict=True):
        assert one.count('class="kind-encode"') == 2
        assert f"encode of rank-0: {encode}, from 30.0 s" in one
    # A round that is not there is not drawn; the typical one is.
    assert "round 3</a>" in page(client, f"run={slow.pk}&run={quick.pk}&round=77&round=-1")
    assert "round 3</a>" in page(client, f"run={slow.pk}&run={quick.pk}&round=99999999999999999999")


def test_workers_tell_conditions_by_role_and_how_many_they_are_is_one_of_them(cast: Cast) -> None:
    for key, ranks in (("small", 2), ("large", 3)):
        for rank in range(ranks):
            recorder = Recorder(f"rank-{rank}", run=key, machine=f"{key}-{rank}", began_ns=1_764_000_000 * 10**9)
            deliver(cast.team.id, recorder.begin(conditions={"driver": "550", "devices": "1 x A40"}).batch())
        coordinator = Recorder(
            "coordinator", run=key, role="coordinator", machine=f"{key}-c", began_ns=1_764_000_000 * 10**9
        )
        deliver(cast.team.id, coordinator.begin(conditions={"driver": "535"}).batch())
    runs = [Run.objects.get(key=key) for key in ("small", "large")]
    told = page(browser_of(cast.owner), "&".join(f"run={run.pk}" for run in runs))
    table = told.split('aria-label="Differences in conditions"')[1].split("</table>")[0]
    assert "1 coordinator, 2 trainers" in table
    assert "1 coordinator, 3 trainers" in table
    assert "device driver" not in table
    assert "coordinators: 535; trainers: 550" in told


def test_names_of_others_are_text(cast: Cast) -> None:
    runs = [timed_run(cast.team, HOSTILE, 10, **{HOSTILE: f"{HOSTILE}{number}"}) for number in range(2)]
    client = browser_of(cast.owner)
    asked = "&".join(f"run={run.pk}" for run in runs)
    client.post(f"/compare/held/?{asked}", {"conditions": [HOSTILE], "reason": HOSTILE})
    told = page(client, f"{asked}&q={HOSTILE}") + client.get("/compare/held/").content.decode()
    told += client.get(f"/compare/held/{Comparable.objects.get().pk}/").content.decode()
    assert HOSTILE not in told
    assert "&lt;/script&gt;" in told


def test_names_of_phases_are_text_in_pictures(cast: Cast) -> None:
    runs = [told_run(cast.team, key, named=HOSTILE).run for key in ("one", "two")]
    told = page(browser_of(cast.owner), "&".join(f"run={run.pk}" for run in runs))
    assert HOSTILE not in told
    assert told.count("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; of rank-0") == 2


def test_of_very_many_workers_those_that_ended_last_are_drawn_and_the_others_counted(cast: Cast) -> None:
    runs = [told_run(cast.team, key, workers=44, rounds=2).run for key in ("one", "two")]
    told = page(browser_of(cast.owner), "&".join(f"run={run.pk}" for run in runs))
    assert told.count("not drawn: 5 workers that ended earlier") == 2
    assert told.split('<ol class="lane-names">')[1].split("</ol>")[0].count("<li") == 40


def test_longer_runs_take_no_more_queries(cast: Cast) -> None:
    client = browser_of(cast.viewer)
    counts = []
    for rounds in (5, 60):
        runs = [timed_run(cast.team, f"of-{rounds}-{number}", 10, rounds=rounds) for number in range(2)]
        asked = "&".join(f"run={run.pk}" for run in runs)
        with CaptureQueriesContext(connection) as queries:
            page(client, asked)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 50
