"""`manage.py add_member TEAM USER`: puts a person into a team."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.teams.models import Role, Team
from dashboard.teams.reachable import reach_database
from dashboard.teams.teams import add_member


class Command(BaseCommand):
    """Makes the account where there is none; `login_url --user` then makes a link that signs it in."""

    requires_system_checks: list[str] = []
    help = "Put a person into a team; an account is made where there is none."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the team, the person and the role."""
        parser.add_argument("team", help="the team's name or id")
        parser.add_argument("user", help="the person's username")
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER)

    def handle(self, *args: Any, team: str, user: str, role: Role, **options: Any) -> None:
        """Add or change the membership, or say in one sentence why not."""
        reach_database()
        found = [each for each in Team.objects.all() if team in (each.name, each.slug, str(each.pk))]
        if not found:
            raise CommandError(f"There is no team {team!r}.")
        if len(found) > 1:
            raise CommandError(f"There are {len(found)} teams {team!r}; say which by one of {_ids(found)}.")
        try:
            person = add_member(found[0], user, Role(role))
        except ValueError as error:
            raise CommandError(f"Nobody was added: {error}.") from None
        self.stdout.write(f"{person.username} is now {role} of {found[0].name}.")


def _ids(teams: list[Team]) -> str:
    return ", ".join(str(each.pk) for each in teams)
