"""`manage.py create_team NAME`: makes a team and prints its id and a token."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from dashboard.teams.models import Role
from dashboard.teams.reachable import reach_database
from dashboard.teams.teams import add_member, create_team


class Command(BaseCommand):
    """Prints one line of JSON: {"id", "token"}; the token has all scopes."""

    requires_system_checks: list[str] = []
    help = "Make a team; prints JSON with its id and a token with all scopes."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the team's name, and who shall own it."""
        parser.add_argument("name")
        parser.add_argument("--owner", help="a user to make its owner, created where there is none")

    def handle(self, *args: Any, name: str, owner: str | None, **options: Any) -> None:
        """Make it, or say in one sentence why not."""
        reach_database()
        try:
            with transaction.atomic():
                team, token = create_team(name)
                if owner:
                    add_member(team, owner, Role.OWNER)
        except ValueError as error:
            raise CommandError(f"No team was made: {error}.") from None
        self.stdout.write(json.dumps({"id": str(team.pk), "token": token}))
