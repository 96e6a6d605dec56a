"""The pages of alerts: who may see and change what, and what they say when there is nothing."""

from dataclasses import replace
from typing import Any

import pytest

from dashboard.alerts import rules
from dashboard.alerts.models import Alert, Channel, Rule
from dashboard.alerts.tasks import tell
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.receivers import Receiver
from tests.dashboard.alerts.telling import SLOW, hook, judged, slow_run

pytestmark = pytest.mark.django_db
MARKUP = "<img src=x onerror=alert(1)>"
RULE = {"name": "mine", "enabled": "on", "kinds": ["straggler"], "phases": "encode, upload"}


@pytest.fixture
def alert(cast: Cast) -> Alert:
    judged(slow_run(cast.team), SLOW)
    tell()
    return Alert.objects.get()


def page(cast: Cast, path: str, who: str = "member") -> str:
    answer = browser_of(getattr(cast, who)).get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_an_empty_inbox_says_what_will_appear_and_that_nobody_is_told(cast: Cast) -> None:
    text = page(cast, "/alerts/")
    assert "No alert yet" in text
    assert "has no channel" in text
    assert "No alert matches" in page(cast, "/alerts/?state=open")
    assert "Nothing was sent yet" in page(cast, "/alerts/deliveries/")
    assert "no channel yet" in page(cast, "/alerts/channels/")


def test_the_inbox_shows_what_wants_somebody_first(cast: Cast, alert: Alert) -> None:
    run = alert.run
    other = replace(SLOW, phase="upload", fingerprint="straggler:upload", observed="upload was slow")
    judged(run, other)
    tell()
    text = page(cast, "/alerts/")
    assert text.index("upload was slow") < text.index("to encode")
    assert "host-07" in text
    only = page(cast, "/alerts/?state=resolved&kind=straggler&project=vit-pets")
    assert "upload was slow" not in only
    assert "to encode" in only
    assert "No alert matches" in page(cast, "/alerts/?project=%00")


def test_the_page_asks_for_its_part_and_gets_nothing_where_nothing_changed(cast: Cast, alert: Alert) -> None:
    client = browser_of(cast.member)
    part = client.get("/alerts/", headers={"HX-Request": "true"})
    assert b"<html" not in part.content
    version = part.context["version"]
    assert client.get(f"/alerts/?seen={version}", headers={"HX-Request": "true"}).status_code == 204
    Alert.objects.update(state="acknowledged")
    assert client.get(f"/alerts/?seen={version}", headers={"HX-Request": "true"}).status_code == 200


@pytest.mark.parametrize(
    ("do", "state"),
    [("acknowledge", "acknowledged"), ("silence", "silenced"), ("resolve", "resolved"), ("reopen", "open")],
)
def test_a_member_does_something_with_an_alert_and_is_led_back(cast: Cast, alert: Alert, do: str, state: str) -> None:
    client = browser_of(cast.member)
    answer = client.post(f"/alerts/{alert.pk}/?kind=straggler", {"do": do, "from": "inbox"})
    assert (answer.status_code, answer["Location"]) == (302, "/alerts/?kind=straggler")
    alert.refresh_from_db()
    assert (alert.state, alert.changed_by) == (state, cast.member)
    assert client.get(f"/alerts/{alert.pk}/").status_code == 200


def test_nonsense_is_refused_and_changes_nothing(cast: Cast, alert: Alert) -> None:
    assert browser_of(cast.member).post(f"/alerts/{alert.pk}/", {"do": "explode"}).status_code == 400
    alert.refresh_from_db()
    assert alert.state == "open"


def test_the_form_of_a_rule_says_what_it_means_to_leave_a_part_empty(cast: Cast) -> None:
    text = page(cast, "/alerts/rules/")
    assert "a part that is left empty matches any finding" in text
    assert "Escalate after this many minutes" in text
    assert "leave both empty for no escalation" in text


def test_viewers_look_and_change_nothing(cast: Cast, alert: Alert) -> None:
    channel, rule = hook(cast.team, "https://hooks.example.org/secret-path"), rules.of(cast.team)[0]
    client = browser_of(cast.viewer)
    for path in (f"/alerts/{alert.pk}/", "/alerts/rules/", "/alerts/channels/", f"/alerts/rules/{rule.pk}/",
                 f"/alerts/channels/{channel.pk}/"):  # fmt: skip
        for form in ({"do": "resolve"}, {"do": "delete"}, {"do": "test"}, RULE):
            assert client.post(path, form).status_code == 403
        text = page(cast, path, "viewer")
        assert "secret-path" not in text
        assert channel.secret not in text
        assert 'value="resolve"' not in text
    assert (Alert.objects.get().state, Channel.objects.count()) == ("open", 1)
    assert 'value="resolve"' not in page(cast, "/alerts/", "viewer")


def test_a_stranger_can_do_nothing_with_anothers_things(cast: Cast, alert: Alert) -> None:
    channel, rule = hook(cast.team, "https://hooks.example.org/"), rules.of(cast.team)[0]
    client = browser_of(cast.stranger)
    for path in (f"/alerts/{alert.pk}/", f"/alerts/rules/{rule.pk}/", f"/alerts/channels/{channel.pk}/"):
        for do in ("resolve", "delete", "test"):
            assert client.post(path, {"do": do}).status_code == 404
    client.post("/alerts/rules/", {**RULE, "channels": [channel.pk]})
    assert not Rule.objects.filter(team=cast.other_team, name="mine").exists()
    assert (Alert.objects.get().state, Channel.objects.count()) == ("open", 1)


def test_a_rule_is_made_changed_and_deleted(cast: Cast) -> None:
    client = browser_of(cast.owner)
    assert client.post("/alerts/rules/", RULE).status_code == 302
    rule = Rule.objects.get(name="mine")
    assert (rule.team, rule.kinds, rule.phases, rule.tags) == (cast.team, ["straggler"], ["encode", "upload"], [])
    assert 'value="encode, upload"' in page(cast, f"/alerts/rules/{rule.pk}/")
    client.post(f"/alerts/rules/{rule.pk}/", RULE | {"pages": "on", "phases": ""})
    rule.refresh_from_db()
    assert (rule.pages, rule.phases) == (True, [])
    client.post(f"/alerts/rules/{rule.pk}/", {"do": "delete"})
    assert not Rule.objects.filter(name="mine").exists()


@pytest.mark.parametrize("wrong", [{"name": ""}, {"kinds": ["nonsense"]}, {"phases": "x" * 129}, {"phases": "x," * 60}])
def test_a_rule_that_makes_no_sense_is_not_made(cast: Cast, wrong: dict[str, Any]) -> None:
    answer = browser_of(cast.owner).post("/alerts/rules/", RULE | wrong)
    assert b"errorlist" in answer.content
    assert not Rule.objects.filter(name="mine").exists()


def test_a_channel_is_made_tested_and_deleted(cast: Cast, receiver: Receiver) -> None:
    client = browser_of(cast.member)
    form = {"name": "hook", "way": "webhook", "to": receiver.url, "enabled": "on"}
    made = client.post("/alerts/channels/", form)
    channel = Channel.objects.get()
    assert made["Location"] == f"/alerts/channels/{channel.pk}/"
    assert channel.secret in page(cast, made["Location"])
    text = client.post(made["Location"], {"do": "test"}, follow=True).content.decode()
    assert "The test was delivered: 200 OK." in text
    assert len(receiver.got) == 1
    assert "200 OK" in page(cast, "/alerts/deliveries/")
    client.post(made["Location"], {"do": "delete"})
    assert not Channel.objects.exists()


def test_a_test_to_a_private_address_is_refused_and_said_so(cast: Cast) -> None:
    channel = hook(cast.team, "http://169.254.169.254/latest/meta-data/")
    text = browser_of(cast.member).post(f"/alerts/channels/{channel.pk}/", {"do": "test"}, follow=True).content.decode()
    assert "not on the public internet" in text


@pytest.mark.parametrize("host", ["169.254.169.254", "[::1]:8080", "2130706433", "localhost", "[::ffff:10.0.0.1]"])
def test_a_private_address_is_refused_before_it_is_kept(cast: Cast, host: str) -> None:
    form = {"name": "hook", "way": "webhook", "to": f"http://{host}/x", "enabled": "on"}
    answer = browser_of(cast.member).post("/alerts/channels/", form)
    assert "not on the public internet. Whoever runs the server may allow its network." in answer.content.decode()
    assert not Channel.objects.exists()


@pytest.mark.parametrize("to", ["", "file:///etc/passwd", "x\0y"])
def test_a_channel_without_a_good_address_is_not_made(cast: Cast, to: str) -> None:
    form = {"name": "hook", "way": "webhook", "to": to, "enabled": "on"}
    assert b"errorlist" in browser_of(cast.member).post("/alerts/channels/", form).content
    assert not Channel.objects.exists()


def test_what_is_not_delivered_is_said_in_the_inbox(cast: Cast, receiver: Receiver) -> None:
    receiver.answer = lambda: (500, {})
    hook(cast.team, receiver.url)
    judged(slow_run(cast.team), SLOW)
    tell()
    assert "1 message of the last day is not delivered" in page(cast, "/alerts/")
    assert "It answered 500" in page(cast, f"/alerts/{Alert.objects.get().pk}/")


def test_markup_in_names_is_text_on_every_page(cast: Cast) -> None:
    run = slow_run(cast.team, project=MARKUP)
    hook(cast.team, "https://hooks.example.org/", name=MARKUP)
    Rule.objects.create(team=cast.team, name=MARKUP, phases=[])
    judged(run, replace(SLOW, phase=MARKUP, workers=(MARKUP,), observed=MARKUP, hypothesis=MARKUP))
    tell()
    for path in ("/alerts/", f"/alerts/{Alert.objects.get().pk}/", "/alerts/rules/", "/alerts/channels/",
                 "/alerts/deliveries/", f"/alerts/channels/{Channel.objects.get().pk}/"):  # fmt: skip
        text = page(cast, path)
        assert "<img" not in text, path
        assert "&lt;img" in text, path
