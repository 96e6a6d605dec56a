"""A finding is called the same wherever people read of it, and by its kind where scripts do."""

import re
from dataclasses import replace
from html import unescape

import pytest

from dashboard.alerts.models import Alert, Rule
from dashboard.alerts.tasks import tell
from dashboard.teams import tokens
from ingest.detection.finding_kinds import NAMES, headline, name
from ingest.detection.verdicts import fingerprint
from ingest.feed.messages import finding_entry
from ingest.models import Finding
from ingest.queries import logged
from ingest.store import findings
from tests.cast import Cast, browser_of
from tests.dashboard.alerts.telling import SLOW, slow_run

pytestmark = pytest.mark.django_db


def read(cast: Cast, path: str) -> str:
    """What people read on a page: no tags, and blanks as one."""
    answer = browser_of(cast.member).get(path)
    assert answer.status_code == 200
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


@pytest.mark.parametrize("kind", [kind for kind in NAMES if kind != "work_on_path"])
@pytest.mark.parametrize("phase", ["save", ""])
def test_a_finding_is_called_the_same_on_every_page(cast: Cast, kind: str, phase: str) -> None:
    run, title = slow_run(cast.team), headline(kind, phase)
    verdict = replace(SLOW, kind=kind, phase=phase, fingerprint=fingerprint(kind, since=None, phase=phase))
    findings.put_lasting(run, kind, 0, [verdict])
    tell()
    Rule.objects.create(team=cast.team, name="mine", kinds=[kind])
    alert = Alert.objects.get()
    pages = {
        "/": f"1 open: {title}", "/alerts/": title, f"/alerts/{alert.pk}/": f"{title} on host-07 · vit-b16",
        "/alerts/rules/": name(kind), f"/alerts/rules/{Rule.objects.get(name='mine').pk}/": name(kind),
    }  # fmt: skip
    for path, said in pages.items():
        text = read(cast, path)
        assert said in text, path
        # The words of the kind itself are read nowhere, unless they are its name.
        for own in {kind, kind.replace("_", " ")} - {name(kind), title}:
            assert not re.search(rf"(?<![\w-]){re.escape(own)}(?![\w-])", text), (path, own)
    entry = finding_entry(Finding.objects.get())
    assert f"{entry['name']} {entry['phase']}".strip() == title
    assert logged.disturbances(run.pk, "another") == [title]
    assert f'<option value="{kind}" >{name(kind)}</option>' in browser_of(cast.member).get("/alerts/").content.decode()


def test_scripts_read_the_kind(cast: Cast) -> None:
    findings.put_lasting(slow_run(cast.team), "straggler", 0, [SLOW])
    tell()
    client = browser_of(cast.member)
    token = tokens.issue(cast.team, "script", ["read"])
    for path in ("/api/v1/findings", "/api/v1/alerts"):
        (told,) = client.get(path, headers={"authorization": f"Bearer {token}"}).json()["items"]
        assert told["kind"] == "straggler"
