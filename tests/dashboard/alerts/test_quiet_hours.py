"""Quiet hours: what is held until they are over, by whose clocks, and how it is told then."""

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from dashboard.alerts import holding, quiet, rules
from dashboard.alerts.acts import act
from dashboard.alerts.models import Alert, Channel, Delivery
from dashboard.alerts.tasks import tell
from ingest.detection.verdicts import Verdict
from ingest.models import Outbox, Run
from ingest.store import findings
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.receivers import Receiver
from tests.dashboard.alerts.telling import NOON_NS, SLOW, hook, judged, once, slow_run

BERLIN = "Europe/Berlin"
PHASES = ("encode", "save")


@pytest.fixture
def run(cast: Cast, receiver: Receiver) -> Run:
    """A run of a team whose only channel is quiet all day but for the minute that has just passed."""
    now = timezone.now()
    hours = {"quiet_from": now.time(), "quiet_to": (now - dt.timedelta(minutes=1)).time()}
    hook(cast.team, receiver.url, **hours)
    return slow_run(cast.team)


def heard(receiver: Receiver) -> list[dict[str, Any]]:
    """Tell what is due; returns what arrived."""
    tell()
    got, receiver.got[:] = [json.loads(body) for _, body in receiver.got], []
    return got


def over() -> None:
    """The quiet hours are over now."""
    now = timezone.now()
    Channel.objects.update(quiet_from=None, quiet_to=None)
    Delivery.objects.filter(state="held").update(next_try_at=now)
    Outbox.objects.exclude(due_at=None).update(due_at=now)


def of_phase(phase: str) -> Verdict:
    return replace(SLOW, phase=phase, fingerprint=f"straggler:{phase}")


def states() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("state", flat=True))


@pytest.mark.parametrize(
    ("hours", "zone", "at", "end"),
    [
        (("22:00", "07:00"), "UTC", "2026-03-01T23:10", "2026-03-02T07:00"),
        (("22:00", "07:00"), "UTC", "2026-03-02T06:59", "2026-03-02T07:00"),
        (("22:00", "07:00"), "UTC", "2026-03-02T07:00", None),
        (("22:00", "07:00"), "UTC", "2026-03-02T21:59", None),
        (("22:00", "07:00"), BERLIN, "2026-01-10T21:30", "2026-01-11T06:00"),
        (("12:00", "13:00"), BERLIN, "2026-07-01T10:30", "2026-07-01T11:00"),
        # Clocks are put forward from 2:00 to 3:00, and back from 3:00 to 2:00: half past two is not, or twice.
        (("22:00", "02:30"), BERLIN, "2026-03-29T00:30", "2026-03-29T01:00"),
        (("22:00", "02:30"), BERLIN, "2026-03-29T01:00", None),
        (("22:00", "02:00"), BERLIN, "2026-03-29T00:30", "2026-03-29T01:00"),
        (("22:00", "03:00"), BERLIN, "2026-03-29T00:30", "2026-03-29T01:00"),
        # Lord Howe Island puts them forward by half an hour.
        (("22:00", "02:15"), "Australia/Lord_Howe", "2026-10-03T15:00", "2026-10-03T15:30"),
        (("22:00", "02:30"), BERLIN, "2026-10-24T23:30", "2026-10-25T00:30"),
        (("22:00", "07:00"), "no/such-place", "2026-03-01T23:10", "2026-03-02T07:00"),
    ],
)
def test_they_are_by_the_clocks_of_a_place(hours: tuple[str, str], zone: str, at: str, end: str | None) -> None:
    begin, until = map(dt.time.fromisoformat, hours)
    channel = Channel(quiet_from=begin, quiet_to=until, quiet_zone=zone)
    found = quiet.until(channel, dt.datetime.fromisoformat(at).replace(tzinfo=dt.UTC))
    assert found == (end and dt.datetime.fromisoformat(end).replace(tzinfo=dt.UTC))


@pytest.mark.django_db
def test_what_is_still_open_is_told_when_they_are_over(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    assert heard(receiver) == []
    assert states() == ["held"]
    assert Outbox.objects.get().due_at == Delivery.objects.get().next_try_at
    over()
    assert [(each["happened"], each["title"]) for each in heard(receiver)] == [
        ("opened", "slow encode on host-07 · vit-b16")
    ]
    judged(run)
    assert [each["happened"] for each in heard(receiver)] == ["resolved"]


@pytest.mark.django_db
def test_what_is_over_by_then_is_told_in_one_message(run: Run, receiver: Receiver) -> None:
    for phase in ("encode", "upload", "apply"):
        judged(run, of_phase(phase))
        assert heard(receiver) == []
    judged(run)
    assert heard(receiver) == []
    over()
    (message,) = heard(receiver)
    assert (message["happened"], message["over"], message["page"]) == ("summary", True, False)
    assert message["title"] == "While it was quiet: 3 incidents, none left open"
    assert message["text"].count("host-07") == 3
    assert set(states()) == {"summarised", "delivered"}
    assert not Outbox.objects.exclude(due_at=None).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("lasting", PHASES)
def test_what_is_acknowledged_and_goes_on_is_told_by_itself_and_so_is_its_end(
    run: Run, receiver: Receiver, cast: Cast, lasting: str
) -> None:
    # Whether it was held before or after what is over makes no difference.
    for phase in PHASES:
        judged(run, *map(of_phase, PHASES[: PHASES.index(phase) + 1]))
        assert heard(receiver) == []
    act(Alert.objects.get(phase=lasting), "acknowledge", cast.member)
    judged(run, of_phase(lasting))
    assert heard(receiver) == []
    over()
    got = {each["happened"]: each["title"] for each in heard(receiver)}
    assert got == {
        "opened": f"slow {lasting} on host-07 · vit-b16", "summary": "While it was quiet: 1 incident, none left open",
    }  # fmt: skip
    judged(run)
    assert [(each["happened"], each["phase"]) for each in heard(receiver)] == [("resolved", lasting)]


@pytest.mark.django_db
def test_of_what_is_silenced_nothing_is_told_when_they_are_over(run: Run, receiver: Receiver, cast: Cast) -> None:
    judged(run, SLOW)
    assert heard(receiver) == []
    act(Alert.objects.get(), "silence", cast.member)
    over()
    assert heard(receiver) == []
    assert states() == ["dropped"]
    judged(run)
    assert heard(receiver) == []


@pytest.mark.django_db
def test_what_was_silenced_until_before_they_are_over_is_told_as_what_is_open(
    run: Run, receiver: Receiver, cast: Cast
) -> None:
    judged(run, SLOW)
    assert heard(receiver) == []
    act(Alert.objects.get(), "silence", cast.member)
    Alert.objects.update(silenced_until=timezone.now())
    over()
    assert [each["happened"] for each in heard(receiver)] == ["opened"]


@pytest.mark.django_db
@pytest.mark.parametrize("after", [False, True])
def test_what_was_told_among_others_as_over_has_no_end_to_be_told(run: Run, receiver: Receiver, *, after: bool) -> None:
    once(run, 3)
    if after:
        findings.put_once(run, "straggler", 4, [replace(of_phase("save"), resolved_ns=NOON_NS + 10**9)])
    assert heard(receiver) == []
    over()
    assert [each["happened"] for each in heard(receiver)] == ["summary"]
    findings.put_once(run, "straggler", 3, [])
    assert heard(receiver) == []


@pytest.mark.django_db
def test_what_was_told_before_and_is_opened_again_by_hand_is_not_told_as_over(
    run: Run, receiver: Receiver, cast: Cast
) -> None:
    hours = Channel.objects.values("quiet_from", "quiet_to").get()
    Channel.objects.update(quiet_from=None)
    judged(run, SLOW)
    assert [each["happened"] for each in heard(receiver)] == ["opened"]
    Channel.objects.update(**hours)
    act(Alert.objects.get(), "resolve", cast.member)
    assert heard(receiver) == []
    act(Alert.objects.get(), "reopen", cast.member)
    over()
    assert heard(receiver) == []
    judged(run)
    assert [each["happened"] for each in heard(receiver)] == ["resolved"]


@pytest.mark.django_db
def test_the_end_of_what_was_told_before_is_told_after(run: Run, receiver: Receiver) -> None:
    hours = Channel.objects.values("quiet_from", "quiet_to").get()
    Channel.objects.update(quiet_from=None)
    judged(run, SLOW)
    assert [each["happened"] for each in heard(receiver)] == ["opened"]
    Channel.objects.update(**hours)
    judged(run)
    assert heard(receiver) == []
    over()
    assert [each["happened"] for each in heard(receiver)] == ["resolved"]


@pytest.mark.django_db
@pytest.mark.parametrize(("passes", "told"), [(True, ["opened", "resolved"]), (False, [])])
def test_pages_go_through_if_so_chosen(run: Run, receiver: Receiver, passes: bool, told: list[str]) -> None:
    Channel.objects.update(quiet_pages=passes)
    rules.of(run.team).update(pages=True)
    judged(run, SLOW)
    first = heard(receiver)
    judged(run)
    assert [each["happened"] for each in [*first, *heard(receiver)]] == told


@pytest.mark.django_db
def test_what_follows_a_held_message_never_overtakes_it(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    assert heard(receiver) == []
    Channel.objects.update(quiet_from=None)
    judged(run)
    assert heard(receiver) == []
    over()
    assert [each["happened"] for each in heard(receiver)] == ["summary"]


@pytest.mark.django_db
def test_hours_that_are_changed_let_go_what_they_held(run: Run, receiver: Receiver, cast: Cast) -> None:
    judged(run, SLOW)
    assert heard(receiver) == []
    row = Channel.objects.get()
    form = {"name": "hook", "way": "webhook", "to": "https://hooks.example.org/x", "enabled": "on"}
    answer = browser_of(cast.member).post(f"/alerts/channels/{row.pk}/", form)
    assert answer.status_code == 302
    Channel.objects.update(settings={"to": receiver.url})
    assert [each["happened"] for each in heard(receiver)] == ["opened"]


@pytest.mark.django_db
def test_changing_them_while_they_last_delays_no_other_channels_message(run: Run, receiver: Receiver) -> None:
    own = Channel.objects.get()
    rule = rules.of(run.team).get(name="Slow workers")
    rule.escalate_after = 1
    rule.save()
    rule.escalate_to.add(hook(run.team, receiver.url, name="pager", pages_only=True))
    judged(run, SLOW)
    assert heard(receiver) == []
    own.quiet_to = (timezone.now() + dt.timedelta(hours=9)).time()
    own.quiet_from = (timezone.now() - dt.timedelta(hours=1)).time()
    own.save()
    holding.let_go(own)
    until, escalates = (Delivery.objects.get(channel__name=name).next_try_at for name in ("hook", "pager"))
    assert until is not None
    assert escalates is not None
    assert until > escalates
    assert Outbox.objects.get().due_at == escalates


@pytest.mark.django_db
def test_letting_go_twice_tells_once(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    judged(run)
    assert heard(receiver) == []
    over()
    holding.release()
    holding.release()
    assert [each["happened"] for each in heard(receiver)] == ["summary"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ({"quiet_from": "22:00"}, "Say both"), ({"quiet_from": "22:00", "quiet_to": "22:00"}, "another time"),
        ({"quiet_from": "25:00", "quiet_to": "7:00"}, "valid time"),
        ({"quiet_from": "22:00", "quiet_to": "07:00", "quiet_zone": "../../etc/passwd"}, "No clocks are known"),
        ({"quiet_from": "22:00", "quiet_to": "07:00", "quiet_zone": "\0"}, "errorlist"),
    ],
)  # fmt: skip
def test_hours_that_make_no_sense_are_refused(cast: Cast, hours: dict[str, str], said: str) -> None:
    form = {"name": "hook", "way": "webhook", "to": "https://hooks.example.org/x", **hours}
    answer = browser_of(cast.member).post("/alerts/channels/", form)
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert not Channel.objects.exists()
