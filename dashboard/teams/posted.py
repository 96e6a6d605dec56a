"""Letters that the pages of teams send, where the installation has a mail server."""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage

from dashboard.teams import invitations
from dashboard.teams.models import Role, Team, User
from dashboard.teams.names import legible

_LETTER = """\
{who} invites you to the team “{team}” on Roundwatch, as {role}.

{link}

The link works once, for {days} days. Whoever has it may use it; if you did not expect it, do nothing.
"""


def mails() -> bool:
    """Whether letters leave this server; without a mail server they only go to its log."""
    return bool(settings.EMAIL_HOST) or not settings.EMAIL_BACKEND.endswith(".console.EmailBackend")


def mail_invitation(by: User, team: Team, role: Role, to: str, link: str) -> str:
    """Send an invitation; returns what happened, as a sentence. Never to a log, where others could read the link."""
    if not mails():
        return f"This server has no mail server, so that nothing was sent to {to}: hand the link over yourself."
    name = legible(team.name)
    text = _LETTER.format(who=legible(by.username), team=name, role=role, link=link, days=invitations.LIFETIME.days)
    try:
        EmailMessage(f"Join “{name}” on Roundwatch", text, to=[to]).send()
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        return f"It could not be sent to {to}: {error}."[:300]
    return f"It was sent to {to}."
