"""Old messages go, with their tries; what is still needed stays."""

import datetime as dt

import pytest
from django.utils import timezone

from dashboard.alerts.models import Alert, Delivery, Try
from dashboard.alerts.pruning import KEPT
from dashboard.alerts.tasks import prune
from ingest.models import Outbox
from ingest.watch import keep_days
from tests.cast import Cast
from tests.dashboard.alerts.telling import SLOW, hook, judged, slow_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def message(cast: Cast) -> Delivery:
    """One that was delivered long ago, of an incident that is over."""
    judged(slow_run(cast.team), SLOW)
    old = timezone.now() - KEPT - dt.timedelta(days=1)
    channel, event = hook(cast.team, "https://a.example"), Outbox.objects.get()
    alert = Alert.objects.create(
        team=cast.team, run=event.finding.run, finding=event.finding, kind="straggler", opened_at=old, updated_at=old,
        state="resolved",
    )  # fmt: skip
    row = Delivery.objects.create(
        channel=channel, alert=alert, outbox=event, happened="opened", content={}, made_at=old, state="delivered"
    )
    Try.objects.create(delivery=row, begun_at=old)
    Outbox.objects.update(made_at=old, due_at=None)
    return row


def left() -> tuple[int, int, int, int]:
    return Delivery.objects.count(), Try.objects.count(), Outbox.objects.count(), Alert.objects.count()


def test_what_was_told_long_ago_goes_with_its_tries_and_its_incident_stays(message: Delivery) -> None:
    prune()
    assert left() == (0, 0, 0, 1)


@pytest.mark.parametrize("fields", [{"state": "waiting"}, {"state": "held"}, {"made_at": timezone.now()}])
def test_what_is_new_or_still_to_be_sent_stays(message: Delivery, fields: dict[str, object]) -> None:
    Delivery.objects.update(**fields)
    prune()
    assert left() == (1, 1, 1, 1)


def test_what_was_told_of_an_incident_that_goes_on_stays(message: Delivery) -> None:
    Alert.objects.update(state="open")
    prune()
    assert left() == (1, 1, 1, 1)


def test_what_is_yet_to_be_told_is_never_taken_away(message: Delivery) -> None:
    Delivery.objects.all().delete()
    Outbox.objects.update(due_at=timezone.now())
    prune()
    assert Outbox.objects.count() == 1


def test_the_watcher_asks_for_it(message: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("ingest.watch.start", lambda name: asked.append(name) or True)
    keep_days()
    assert "alerts.prune" in asked
