"""Escalation: what nobody acknowledges in time is told to others, too, and to them when it is over."""

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from dashboard.alerts import rules
from dashboard.alerts.acts import act
from dashboard.alerts.models import Alert, Channel, Delivery, Rule
from dashboard.alerts.tasks import tell
from ingest.models import Finding, Outbox, Run
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.receivers import Receiver
from tests.dashboard.alerts.telling import SLOW, hook, judged, once, slow_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast, receiver: Receiver) -> Run:
    """Slow workers are told to the chat and, unacknowledged for 30 min, to the pager."""
    hook(cast.team, f"{receiver.url}/chat", name="chat")
    pager = hook(cast.team, f"{receiver.url}/pager", name="pager", pages_only=True)
    rule = rules.of(cast.team).get(name="Slow workers")
    rule.escalate_after = 30
    rule.save()
    rule.escalate_to.add(pager)
    return slow_run(cast.team)


def heard(receiver: Receiver) -> list[tuple[str, str, bool]]:
    """Tell what is due; returns what arrived since the last look: channel, what happened, whether it wakes somebody."""
    tell()
    got, receiver.got[:] = [json.loads(body) for _, body in receiver.got], []
    of = {str(key): name for key, name in Delivery.objects.values_list("key", "channel__name")}
    return [(of[each["id"]], each["happened"], each["page"]) for each in got]


def half_an_hour_later() -> None:
    early = dt.timedelta(minutes=30)
    Delivery.objects.filter(state="held").update(next_try_at=F("next_try_at") - early, made_at=F("made_at") - early)
    Alert.objects.update(told_at=F("told_at") - early, begun_at=F("begun_at") - early)
    Outbox.objects.exclude(due_at=None).update(due_at=timezone.now())


def opened(run: Run, receiver: Receiver) -> dt.datetime:
    judged(run, SLOW)
    assert heard(receiver) == [("chat", "opened", False)]
    (held,) = Delivery.objects.filter(state="held")
    assert (held.channel.name, held.held) == ("pager", "unacknowledged")
    assert held.next_try_at == held.made_at + dt.timedelta(minutes=30)
    return held.made_at


def test_what_nobody_acknowledges_in_time_wakes_others_who_hear_of_its_end_as_well(
    run: Run, receiver: Receiver
) -> None:
    opened(run, receiver)
    assert heard(receiver) == []
    half_an_hour_later()
    assert heard(receiver) == [("pager", "escalated", True)]
    assert heard(receiver) == []
    assert not Outbox.objects.exclude(due_at=None).exists()
    judged(run)
    assert heard(receiver) == [("chat", "resolved", False), ("pager", "resolved", False)]


@pytest.mark.parametrize("what", ["acknowledge", "silence"])
def test_who_looks_after_it_in_time_keeps_others_asleep(run: Run, receiver: Receiver, cast: Cast, what: str) -> None:
    opened(run, receiver)
    act(Alert.objects.get(), what, cast.member)
    half_an_hour_later()
    assert heard(receiver) == []
    assert Delivery.objects.get(channel__name="pager").state == "dropped"
    judged(run)
    assert heard(receiver) == [("chat", "resolved", False)]


def test_what_is_over_in_time_is_told_to_nobody_else(run: Run, receiver: Receiver) -> None:
    opened(run, receiver)
    judged(run)
    assert heard(receiver) == [("chat", "resolved", False)]
    half_an_hour_later()
    assert heard(receiver) == []


def test_an_incident_that_opens_again_begins_its_time_anew(run: Run, receiver: Receiver) -> None:
    first = opened(run, receiver)
    judged(run)
    assert heard(receiver) == [("chat", "resolved", False)]
    judged(run, SLOW)
    assert heard(receiver) == [("chat", "opened", False)]
    old, new = Delivery.objects.filter(channel__name="pager").order_by("pk")
    assert old.made_at == first
    Delivery.objects.filter(pk=old.pk).update(next_try_at=timezone.now())
    Outbox.objects.update(due_at=timezone.now())
    assert heard(receiver) == []
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.state, new.state) == ("dropped", "held")


def test_what_is_told_of_it_meanwhile_neither_ends_nor_renews_its_time(run: Run, receiver: Receiver) -> None:
    opened(run, receiver)
    Alert.objects.update(told_at=F("told_at") - dt.timedelta(minutes=11))
    once(run, 7)
    assert heard(receiver) == [("chat", "opened", False)]
    assert Delivery.objects.filter(state="held").count() == 1
    half_an_hour_later()
    assert heard(receiver) == [("pager", "escalated", True)]


def test_who_was_told_at_once_is_not_told_twice(run: Run, receiver: Receiver) -> None:
    Channel.objects.filter(name="pager").update(pages_only=False)
    judged(run, SLOW)
    assert heard(receiver) == [("chat", "opened", False), ("pager", "opened", False)]
    assert not Delivery.objects.filter(state="held").exists()


@pytest.mark.parametrize(("acknowledged", "told"), [(False, [("pager", "escalated", True)]), (True, [])])
def test_it_is_told_in_quiet_hours_only_where_pages_are(
    run: Run, receiver: Receiver, cast: Cast, *, acknowledged: bool, told: list[tuple[str, str, bool]]
) -> None:
    opened(run, receiver)
    now = timezone.now()
    Channel.objects.filter(name="pager").update(
        quiet_from=now.time(), quiet_to=(now - dt.timedelta(minutes=1)).time(), quiet_pages=False
    )
    half_an_hour_later()
    assert heard(receiver) == []
    held = Delivery.objects.get(channel__name="pager")
    assert (held.state, held.held) == ("held", "quiet")
    Channel.objects.update(quiet_from=None, quiet_to=None)
    Delivery.objects.filter(state="held").update(next_try_at=now)
    Outbox.objects.update(due_at=now)
    if acknowledged:
        act(Alert.objects.get(), "acknowledge", cast.member)
    assert heard(receiver) == told


def gone(rule: Rule) -> None:
    rule.delete()


def off(rule: Rule) -> None:
    Rule.objects.filter(pk=rule.pk).update(enabled=False)


def without(rule: Rule) -> None:
    rule.escalate_to.clear()


def of_others(rule: Rule) -> None:
    Rule.objects.filter(pk=rule.pk).update(kinds=["stalled"])


@pytest.mark.parametrize("change", [gone, off, without, of_others])
@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("in_quiet_hours", [False, True])
def test_nobody_else_is_told_once_no_rule_asks_for_it_any_more(
    run: Run, receiver: Receiver, change: Callable[[Rule], None], *, in_quiet_hours: bool, goes_on: bool
) -> None:
    opened(run, receiver)
    now = timezone.now()
    if in_quiet_hours:
        Channel.objects.filter(name="pager").update(
            quiet_from=now.time(), quiet_to=(now - dt.timedelta(minutes=1)).time(), quiet_pages=False
        )
        half_an_hour_later()
        assert heard(receiver) == []
        assert Delivery.objects.get(channel__name="pager").held == "quiet"
    change(Rule.objects.get(name="Slow workers"))
    if not goes_on:
        judged(run)
        assert heard(receiver) == [("chat", "resolved", False)]
    Channel.objects.update(quiet_from=None, quiet_to=None)
    half_an_hour_later()
    Delivery.objects.filter(state="held").update(next_try_at=now)
    assert heard(receiver) == []
    assert set(Delivery.objects.filter(channel__name="pager").values_list("state", flat=True)) == {"dropped"}


def test_a_finding_that_has_become_worse_is_escalated_as_it_opened(run: Run, receiver: Receiver) -> None:
    Rule.objects.filter(name="Slow workers").update(severities=["warning"])
    opened(run, receiver)
    Finding.objects.update(severity="critical")
    half_an_hour_later()
    assert heard(receiver) == [("pager", "escalated", True)]


def test_a_rule_says_both_whom_and_after_how_long(cast: Cast) -> None:
    browser = browser_of(cast.member)
    pager = hook(cast.team, "https://a.example", pages_only=True)
    theirs = hook(cast.other_team, "https://b.example")
    good: dict[str, Any] = {"name": "mine", "escalate_after": "30", "escalate_to": [pager.pk]}
    for wrong in ({"escalate_after": ""}, {"escalate_to": []}, {"escalate_after": "0"}, {"escalate_after": "9999"},
                  {"escalate_to": [theirs.pk]}):  # fmt: skip
        assert browser.post("/alerts/rules/", good | wrong).status_code == 200
    assert not Rule.objects.filter(name="mine").exists()
    assert browser.post("/alerts/rules/", good).status_code == 302
    assert "after 30 min also hook" in browser.get("/alerts/rules/").content.decode()


@pytest.mark.parametrize(
    ("rule", "again"),
    [
        ({}, ["chat"]), ({"pages": "on"}, ["chat", "pager"]), ({"channels": ["chat"]}, ["chat"]),
        ({"channels": ["pager"]}, []), ({"channels": ["pager"], "pages": "on"}, ["pager"]),
        ({"channels": ["other"], "pages": "on"}, []),
    ],
)  # fmt: skip
def test_a_rule_that_would_tell_somebody_later_whom_it_tells_at_once_is_told_so(
    cast: Cast, rule: dict[str, Any], again: list[str]
) -> None:
    made = {name: hook(cast.team, "https://a.example", name=name, pages_only=name == "pager").pk
            for name in ("chat", "other", "pager")}  # fmt: skip
    form = {"name": "mine", "escalate_after": "30", **rule, "escalate_to": [made["chat"], made["pager"]],
            "channels": [made[name] for name in rule.get("channels", ())]}  # fmt: skip
    answer = browser_of(cast.member).post("/alerts/rules/", form)
    assert answer.status_code == (200 if again else 302)
    if again:
        assert f"Told at once already, and never a second time: {', '.join(again)}." in answer.content.decode()
