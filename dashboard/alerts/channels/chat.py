"""Services with fixed hosts that apprise speaks: a team's text is taken apart by a pattern, never handed on."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.alerts.channels.letter import Letter, Undelivered, Way
from dashboard.alerts.told import Told

# Apprise's own limits, below ours for a try: to connect, and to read.
_LIMITS = {"cto": "2", "rto": "3", "redirect": "no"}
_HIDDEN = "…"


@dataclass(frozen=True, slots=True)
class Service:
    """`pattern` matches all of a team's text; `url` makes apprise's URL of its groups and the letter."""

    key: str
    label: str
    asks: str
    example: str
    pattern: re.Pattern[str]
    url: Callable[[re.Match[str], Letter], str]

    def check(self, to: str) -> str:
        """The text as it is kept; raises ValueError."""
        if not self.pattern.fullmatch(to.strip()):
            raise ValueError(f"This does not look like {self.example}")
        return to.strip()

    def send(self, to: str, secret: str, letter: Letter) -> str:  # noqa: ARG002 - every way is given it
        """Hand it to the service; raises Undelivered with what apprise has to say."""
        found = self.pattern.fullmatch(to)
        if found is None:
            raise Undelivered(f"“{self.label}” is set up with something that it is not sent to.")
        return _notify(self.label, self.url(found, letter), letter)

    def shown(self, to: str) -> str:  # noqa: ARG002 - all of it is a secret
        """Nothing of it: whoever has it may send."""
        return _HIDDEN


def _notify(label: str, url: str, letter: Letter) -> str:
    import apprise  # noqa: PLC0415 - it brings requests and more, which only who sends needs

    kind = apprise.NotifyType.SUCCESS if letter.content["over"] else apprise.NotifyType.WARNING
    sender = apprise.Apprise.instantiate(url)
    if sender is None:
        raise Undelivered(f"{label} does not take this address.")
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log:  # type: ignore[no-untyped-call]
        sent = sender.notify(_plain(letter.text), _plain(letter.title), notify_type=kind, body_format="text")
        said = " ".join(log.getvalue().split())
    if not sent:
        raise Undelivered(f"{label} did not take it: {said or 'it gave no reason'}"[:300])
    return f"{label} took it"


def _plain(text: str) -> str:
    """No mention of anybody: names come from outside."""
    return text.replace("@", "@\N{WORD JOINER}")


def _with(url: str, **more: str) -> str:
    return f"{url}?{urlencode({**_LIMITS, **more})}"


def _pagerduty(found: re.Match[str], letter: Letter) -> str:
    """One incident for each alert, resolved when it is over; nobody is woken for what is over already."""
    action = "resolve" if letter.content["over"] and letter.content["happened"] != Told.TEST else "trigger"
    about = letter.content["alert"] or str(letter.key)
    return _with(f"pagerduty://{found[1]}@{found[1]}", action=action, dedup=f"roundwatch-{about}")


def _teams(found: re.Match[str], letter: Letter) -> str:
    return _with(f"workflows://{found[1]}:443/{found[2]}/{found[3]}")


_SERVICES = (
    Service(
        "slack", "Slack", "Address of the incoming webhook", "https://hooks.slack.com/services/T…/B…/…",
        re.compile(r"https://hooks\.slack\.com/services/([A-Z0-9]{1,32})/([A-Z0-9]{1,32})/([A-Za-z0-9]{1,64})"),
        lambda found, _: _with(f"slack://{found[1]}/{found[2]}/{found[3]}"),
    ),
    Service(
        "discord", "Discord", "Address of the webhook", "https://discord.com/api/webhooks/NUMBER/TOKEN",
        re.compile(r"https://(?:discord|discordapp)\.com/api/webhooks/(\d{1,32})/([\w-]{1,128})", re.ASCII),
        lambda found, _: _with(f"discord://{found[1]}/{found[2]}"),
    ),
    Service(
        "msteams", "Microsoft Teams", "Address of the workflow",
        "https://….logic.azure.com:443/workflows/…/triggers/manual/paths/invoke?…&sig=…",
        re.compile(
            r"https://([a-z0-9.-]{1,100}\.(?:logic\.azure\.com|api\.powerplatform\.com))(?::443)?"
            r"/(?:powerautomate/automations/direct/)?workflows/([a-f0-9]{1,64})/triggers/manual/paths/invoke/?"
            r"\?(?:[\w.%=-]+&)*sig=([\w-]{1,128})", re.ASCII,
        ),
        _teams,
    ),
    Service(
        "pagerduty", "PagerDuty", "Integration key (Events API v2)", "32 letters and digits",
        re.compile(r"([A-Za-z0-9]{20,40})"), _pagerduty,
    ),
    Service(
        "ntfy", "ntfy.sh", "Topic", "a-topic-that-nobody-guesses",
        re.compile(r"([A-Za-z0-9_-]{1,64})"), lambda found, _: _with(f"ntfys://{found[1]}", mode="cloud"),
    ),
)  # fmt: skip
WAYS = tuple(Way(one.key, one.label, one.asks, one.example, one.check, one.send, one.shown) for one in _SERVICES)
