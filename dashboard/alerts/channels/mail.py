"""E-mail, handed to the mail server of the installation's settings."""

import smtplib

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from dashboard.alerts.channels.letter import Letter, Undelivered, Way

_MOST = 20


def check(to: str) -> str:
    """Some addresses with commas between them; raises ValueError."""
    addresses = [each.strip() for each in to.split(",") if each.strip()]
    try:
        for address in addresses:
            validate_email(address)
    except ValidationError:
        raise ValueError(f"“{address}” is no e-mail address.") from None
    if not 1 <= len(addresses) <= _MOST:
        raise ValueError(f"Give 1 to {_MOST} addresses with commas between them.")
    return ", ".join(dict.fromkeys(addresses))


def send(to: str, secret: str, letter: Letter) -> str:
    """Hand over one message. Its Message-ID is the key, so that a second try is seen to be the same."""
    if not settings.EMAIL_HOST and settings.EMAIL_BACKEND.endswith(".console.EmailBackend"):
        raise Undelivered("This server has no mail server (ROUNDWATCH_SMTP_HOST).")
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip("> ")
    message = EmailMessage(
        letter.title, letter.text, to=to.split(", "), headers={"Message-ID": f"<{letter.key}@{domain}>"}
    )
    try:
        message.send()
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        raise Undelivered(f"The mail server did not take it: {error}"[:300]) from None
    return "handed to the mail server"


WAY = Way("email", "E-mail", "Addresses, with commas between them", "oncall@example.org", check, send, lambda to: to)
