"""Every way to tell people, by its key; the next one takes a line here and the checklist of README.md."""

from dashboard.alerts.channels import chat, mail, webhook
from dashboard.alerts.channels.letter import Letter, Undelivered, Way

WAYS: dict[str, Way] = {way.key: way for way in (webhook.WAY, mail.WAY, *chat.WAYS)}


def check(way: str, to: str) -> str:
    """Where to, as it is kept; raises ValueError with a sentence for what cannot be one."""
    return WAYS[way].check(to)


def send(way: str, to: str, secret: str, letter: Letter) -> str:
    """Deliver a letter; returns what the receiver answered. Raises Undelivered with the reason."""
    if way not in WAYS:
        raise Undelivered(f"There is no way named {way} any more.")
    return WAYS[way].send(to, secret, letter)
