"""`manage.py login_url`: prints a link that signs the first team's owner in, once, within an hour."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.teams import login_links
from dashboard.teams.models import User
from dashboard.teams.reachable import reach_database
from dashboard.teams.teams import ensure_first_team


class Command(BaseCommand):
    """Prints one URL."""

    requires_system_checks: list[str] = []
    help = "Print a login link that works once, for an hour."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take whom to sign in."""
        parser.add_argument("--user", help="a username; default: the owner of the first team")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        """Make the link. That no server runs is told at once, without the pool's patience and its warnings."""
        reach_database()
        self.stdout.write(settings.PUBLIC_URL + login_links.make(_person(user)))


def _person(username: str | None) -> User:
    if username is None:
        token_file = settings.DATA.token
        return ensure_first_team(token_file.read_text().strip() if token_file.exists() else "")[1]
    person = User.objects.filter(username=username, is_active=True).first()
    if person is None:
        raise CommandError(f"There is no user {username!r}.")
    return person
