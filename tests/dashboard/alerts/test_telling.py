"""From a finding to what people are told: one incident, one message each time it opens and ends, and its whole text."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from dashboard.alerts import delivering, rules
from dashboard.alerts.acts import act
from dashboard.alerts.models import Alert, Channel, Delivery, Rule, Try
from dashboard.alerts.tasks import tell
from ingest.models import Finding, Outbox, Run
from ingest.store import deletion, findings
from tests.cast import Cast
from tests.dashboard.alerts.receivers import Receiver, receiving
from tests.dashboard.alerts.telling import SLOW, hook, judged, once, slow_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast, receiver: Receiver) -> Run:
    hook(cast.team, receiver.url)
    return slow_run(cast.team)


def heard(receiver: Receiver) -> list[dict[str, Any]]:
    """What arrived since the last look."""
    got, receiver.got[:] = [json.loads(body) for _, body in receiver.got], []
    return got


def told(receiver: Receiver) -> list[str]:
    """Tell what is due; returns what was told."""
    tell()
    return [each["happened"] for each in heard(receiver)]


def test_a_slow_encoder_of_the_first_run_is_told_with_all_that_one_needs(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    tell()
    (message,) = heard(receiver)
    alert = Alert.objects.get()
    assert (alert.state, alert.team) == ("open", run.team)
    assert message["title"] == "slow encode on host-07 · vit-b16"
    assert message["cost"] == {"seconds": 15.9, "gpu_seconds": 238.5}
    assert message["text"].splitlines() == [
        "Run: vit-b16 (vit-pets), of Vision team", "Round: 3, 4", "Who: host-07", "Since: 2026-03-01T12:00:00Z",
        "Cost: 15.9 s a round, at most 238 GPU-seconds of peers that wait",
        "Observed: host-07 took 17.8 s to encode, its peers 1.9 s", "Hypothesis: they share one machine",
        f"http://127.0.0.1:8000/runs/{run.pk}/?round=4&sel=0.7",
    ]  # fmt: skip
    assert not message["page"]


def test_it_is_told_once_and_once_more_when_it_is_over(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    assert told(receiver) == ["opened"]
    judged(run, replace(SLOW, workers=("host-07", "host-09"), rounds=(3, 4, 5)))
    assert told(receiver) == []
    judged(run)
    assert told(receiver) == ["resolved"]
    assert Alert.objects.get().state == "resolved"
    judged(run, replace(SLOW, rounds=(9, 10)))
    assert told(receiver) == ["opened"]
    assert (Alert.objects.get().times, Alert.objects.get().state) == (2, "open")
    assert not Outbox.objects.exclude(due_at=None).exists()


def test_what_ends_before_anybody_was_told_is_told_in_order(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    judged(run)
    assert told(receiver) == ["opened", "resolved"]


def test_single_slow_rounds_are_one_incident_and_do_not_ring_each_time(run: Run, receiver: Receiver) -> None:
    for index in (4, 5, 6):
        once(run, index)
        tell()
    (message,) = heard(receiver)
    assert message["over"]
    alert = Alert.objects.get()
    assert (alert.state, alert.times, alert.finding.rounds) == ("resolved", 3, [6])
    Alert.objects.update(told_at=timezone.now() - timedelta(minutes=11))
    once(run, 7)
    assert told(receiver) == ["opened"]


def test_what_later_records_do_not_show_is_taken_back(run: Run, receiver: Receiver) -> None:
    once(run, 4)
    tell()
    findings.put_once(run, "straggler", 4, [])
    tell()
    assert [each["title"].partition(":")[0] for each in heard(receiver)] == [
        "slow encode on host-07 · vit-b16",
        "Withdrawn",
    ]


def test_nothing_is_told_of_what_no_rule_wants_or_is_only_information(run: Run, receiver: Receiver) -> None:
    judged(run, replace(SLOW, severity="info"))
    rules.of(run.team).update(enabled=False)
    judged(run, replace(SLOW, severity="info"), replace(SLOW, fingerprint="straggler:x", phase="x"))
    assert told(receiver) == []
    assert not Alert.objects.exists()
    assert not Outbox.objects.exclude(due_at=None).exists()


@pytest.mark.parametrize(
    ("asked", "wants"),
    [
        ({}, True), ({"kinds": ["straggler", "stalled"]}, True), ({"kinds": ["stalled"]}, False),
        ({"severities": ["critical"]}, False), ({"phases": ["encode"]}, True), ({"phases": ["upload"]}, False),
        ({"projects": ["vit-pets"]}, True), ({"projects": ["other"]}, False), ({"tags": ["nightly", "x"]}, True),
        ({"tags": ["x"]}, False), ({"phases": ["encode"], "projects": ["other"]}, False),
    ],
)  # fmt: skip
def test_a_rule_wants_what_is_all_that_it_asks_for(cast: Cast, asked: dict[str, Any], wants: bool) -> None:
    run = slow_run(cast.team, tags=["nightly"])
    judged(run, SLOW)
    assert rules.matches(Rule(team=cast.team, **asked), Finding.objects.get()) is wants


def test_by_default_people_are_woken_for_what_stands_still_or_costs_a_tenth_and_for_nothing_else(cast: Cast) -> None:
    run = slow_run(cast.team)
    waking = set()
    for severity in ("info", "warning", "critical"):
        for kind in (*rules.KINDS, "work_on_path"):
            finding = Finding(run=run, kind=kind, severity=severity)
            wanting = rules.matching(finding)
            assert bool(wanting) is (severity != "info" and kind != "work_on_path"), (kind, severity)
            waking |= {(kind, severity)} if any(rule.pages for rule in wanting) else set()
    always = {(kind, severity) for kind in rules.WAKING for severity in ("warning", "critical")}
    assert waking == {*always, ("straggler", "critical")}


def test_default_rules_that_were_deleted_do_not_come_back(cast: Cast) -> None:
    rules.of(cast.team).delete()
    assert list(rules.of(cast.team)) == []


def test_a_channel_kept_for_waking_is_used_for_nothing_else(run: Run, receiver: Receiver) -> None:
    Channel.objects.update(pages_only=True)
    judged(run, SLOW)
    assert told(receiver) == []
    findings.put_lasting(run, "stalled", 0, [replace(SLOW, kind="stalled", fingerprint="stalled:encode")])
    tell()
    assert [each["page"] for each in heard(receiver)] == [True]


def test_a_rule_with_channels_of_its_own_tells_no_other(run: Run, receiver: Receiver) -> None:
    rules.of(run.team).delete()
    with receiving() as own:
        Rule.objects.create(team=run.team, name="mine").channels.add(hook(run.team, own.url))
        judged(run, SLOW)
        assert told(receiver) == []
    assert len(own.got) == 1


def test_another_teams_channels_and_rules_are_never_used(cast: Cast, run: Run, receiver: Receiver) -> None:
    with receiving() as theirs:
        hook(cast.other_team, theirs.url)
        judged(run, SLOW)
        assert told(receiver) == ["opened"]
    assert theirs.got == []
    assert not Alert.objects.filter(team=cast.other_team).exists()


def test_a_silenced_incident_tells_nothing_while_it_is_silent(run: Run, receiver: Receiver, cast: Cast) -> None:
    judged(run, SLOW)
    tell()
    act(Alert.objects.get(), "silence", cast.member)
    judged(run)
    assert told(receiver) == ["opened", "resolved"]
    judged(run, replace(SLOW, rounds=(9, 10)))
    assert told(receiver) == []
    assert Alert.objects.get().state == "silenced"
    judged(run)
    Alert.objects.update(silenced_until=timezone.now())
    judged(run, replace(SLOW, rounds=(19, 20)))
    assert told(receiver) == ["opened"]


def test_who_resolves_it_by_hand_has_the_same_people_told_once(run: Run, receiver: Receiver, cast: Cast) -> None:
    judged(run, SLOW)
    tell()
    act(Alert.objects.get(), "resolve", cast.member)
    tell()
    assert [(each["happened"], each.get("by")) for each in heard(receiver)] == [("opened", None), ("resolved", "mika")]
    judged(run)
    assert told(receiver) == []


def test_an_acknowledged_incident_still_says_when_it_is_over(run: Run, receiver: Receiver, cast: Cast) -> None:
    judged(run, SLOW)
    tell()
    act(Alert.objects.get(), "acknowledge", cast.member)
    judged(run)
    assert told(receiver) == ["opened", "resolved"]


def later(seconds: float) -> None:
    """As if that time had gone by for what waits to be sent."""
    for delivery in Delivery.objects.filter(state="waiting"):
        delivery.next_try_at -= timedelta(seconds=seconds)
        delivery.save()


def test_what_is_not_taken_is_tried_again_later_and_later_with_one_key(run: Run, receiver: Receiver) -> None:
    receiver.answer = lambda: (503, {})
    judged(run, SLOW)
    tell()
    waits = []
    for pause in delivering.PAUSES_S:
        waits.append(round((Delivery.objects.get().next_try_at - Try.objects.latest("pk").ended_at).total_seconds()))
        assert Outbox.objects.get().due_at == Delivery.objects.get().next_try_at
        tell()  # not yet
        later(pause)
        tell()
    assert waits == list(delivering.PAUSES_S)
    assert len(receiver.got) == len(waits) + 1
    assert len({headers["Idempotency-Key"] for headers, _ in receiver.got}) == 1
    assert len({body for _, body in receiver.got}) == 1
    assert {row.answer for row in Try.objects.all()} == {"It answered 503 Service Unavailable."}
    receiver.answer = lambda: (200, {})
    later(3600)
    tell()
    assert Delivery.objects.get().state == "delivered"
    assert Outbox.objects.get().due_at is None


def test_it_is_given_up_after_a_day_and_said_to_be(run: Run, receiver: Receiver) -> None:
    receiver.answer = lambda: (503, {})
    judged(run, SLOW)
    tell()
    Delivery.objects.update(made_at=timezone.now() - timedelta(hours=25))
    later(3600)
    tell()
    assert Delivery.objects.get().state == "failed"
    assert Outbox.objects.get().due_at is None


def test_what_no_other_try_would_mend_is_given_up_at_once(run: Run, receiver: Receiver, settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = ()  # an operator no longer lets it in
    judged(run, SLOW)
    tell()
    assert Delivery.objects.get().state == "failed"
    assert Try.objects.get().answer.startswith("Refused: 127.0.0.1 is not on the public internet.")
    assert Outbox.objects.get().due_at is None
    assert receiver.got == []


def test_the_end_waits_for_the_beginning_and_a_dead_channel_holds_up_no_other(run: Run, receiver: Receiver) -> None:
    receiver.answer = lambda: (503, {})
    judged(run, SLOW)
    with receiving() as other:
        hook(run.team, other.url, name="other")
        tell()
        judged(run)
        tell()
        assert [each["happened"] for each in heard(other)] == ["opened", "resolved"]
    assert {each["happened"] for each in heard(receiver)} == {"opened"}
    receiver.answer = lambda: (200, {})
    later(60)
    assert told(receiver) == ["opened", "resolved"]


def test_a_channel_that_is_deleted_with_what_it_was_not_told_opens_nothing_again(
    run: Run, receiver: Receiver, cast: Cast
) -> None:
    receiver.answer = lambda: (503, {})
    judged(run, SLOW)
    tell()
    act(Alert.objects.get(), "resolve", cast.member)
    tell()
    Channel.objects.get().delete()
    receiver.answer = lambda: (200, {})
    hook(run.team, receiver.url, name="other")
    later(60)
    heard(receiver)
    Outbox.objects.exclude(due_at=None).update(due_at=timezone.now())
    assert told(receiver) == []
    assert Alert.objects.get().state == "resolved"
    assert not Outbox.objects.exclude(due_at=None).exists()


def test_what_a_worker_died_over_is_tried_again_once_its_claim_is_over(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    receiver.answer = lambda: (503, {})
    tell()
    later(60)
    claimed = timezone.now() + delivering.CLAIM
    Delivery.objects.update(claimed_until=claimed)
    receiver.answer = lambda: (200, {})
    heard(receiver)
    assert told(receiver) == []
    Delivery.objects.update(claimed_until=timezone.now())
    assert told(receiver) == ["opened"]


def test_what_cannot_be_tried_yet_is_not_asked_for_all_the_time(run: Run, receiver: Receiver) -> None:
    receiver.answer = lambda: (503, {})
    judged(run, SLOW)
    tell()
    judged(run)
    tell()  # the end waits for the beginning, which was refused
    assert Outbox.objects.filter(due_at=None).count() == 0
    assert Outbox.objects.order_by("due_at")[0].due_at > timezone.now()


def test_a_channel_that_was_turned_off_is_sent_nothing(run: Run, receiver: Receiver) -> None:
    receiver.answer = lambda: (503, {})
    judged(run, SLOW)
    tell()
    Channel.objects.update(enabled=False)
    later(60)
    tell()
    assert len(receiver.got) == 1
    assert Try.objects.latest("pk").answer == "The channel is off."


def test_a_run_deleted_while_a_message_of_it_is_sent_takes_that_along(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)

    sent = delivering.channels.send

    def send(*args: Any) -> str:
        said = sent(*args)
        deletion.begin(run.pk)
        return said

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dashboard.alerts.channels.send", send)
        tell()
    assert len(receiver.got) == 1
    assert not any(model.objects.exists() for model in (Run, Outbox, Alert, Delivery, Try))


def test_a_fault_of_a_channel_is_noted_and_loses_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(run, SLOW)

    def broken(*_: object) -> str:
        raise KeyError

    monkeypatch.setattr("dashboard.alerts.channels.send", broken)
    tell()
    assert Delivery.objects.get().state == "waiting"
    assert Try.objects.get().answer == "The server failed: KeyError."


def test_a_test_takes_the_same_way_once(run: Run, receiver: Receiver) -> None:
    channel = Channel.objects.get()
    assert delivering.send_test(channel).answer == "200 OK"
    assert [each["happened"] for each in heard(receiver)] == ["test"]
    receiver.answer = lambda: (404, {})
    assert delivering.send_test(channel).answer == "It answered 404 Not Found."
    assert sorted(Delivery.objects.values_list("state", flat=True)) == ["delivered", "failed"]
    tell()
    assert len(heard(receiver)) == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Alerts arrive here from now on."),
        ({"enabled": False}, "The channel is off: nothing but tests arrives here until somebody turns it on."),
        ({"pages_only": True}, "Alerts that wake somebody arrive here from now on."),
        ({"pages_only": True, "quiet": True}, "Alerts that wake somebody arrive here from now on."),
        ({"quiet": True, "quiet_pages": False}, "It is quiet now: alerts arrive here from {} (UTC) on."),
        ({"quiet": True}, "It is quiet now: alerts arrive here from {} (UTC) on, those that wake somebody at once."),
    ],
)
def test_a_test_says_from_when_on_alerts_arrive(
    run: Run, receiver: Receiver, fields: dict[str, Any], said: str
) -> None:
    now = timezone.now()
    ends = (now - timedelta(minutes=1)).time().replace(second=0, microsecond=0)
    hours = {"quiet_from": now.time(), "quiet_to": ends} if fields.pop("quiet", False) else {}
    Channel.objects.update(**fields, **hours)
    delivering.send_test(Channel.objects.get())
    (message,) = heard(receiver)
    assert said.format(f"{ends:%H:%M}") in message["text"]


def test_a_deleted_run_takes_its_alerts_along(run: Run, receiver: Receiver) -> None:
    judged(run, SLOW)
    tell()
    assert Try.objects.count() == 1
    deletion.begin(run.pk)
    assert not any(model.objects.exists() for model in (Run, Outbox, Alert, Delivery, Try))


@pytest.mark.parametrize("name", ["<b>x</b>", "\u202egnp.exe", "a\nFrom: b", "x" * 128, "\u200b"])
def test_hostile_names_break_no_message(run: Run, receiver: Receiver, name: str) -> None:
    Run.objects.filter(pk=run.pk).update(name=name, project=name)
    judged(Run.objects.get(), replace(SLOW, workers=(name,), observed=f"{name} took 17.8 s"))
    tell()
    (message,) = heard(receiver)
    assert len(message["title"].splitlines()) == 1
    assert len(message["text"].splitlines()) == 8
    assert "\u202e" not in message["text"]
