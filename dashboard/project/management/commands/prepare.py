"""`manage.py prepare`: brings database and static files up to date, and makes sure that a team can be entered."""

import json
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from dashboard.project.datadir import write_private
from dashboard.project.static import collect
from dashboard.teams import login_links
from dashboard.teams.teams import ensure_first_team


class Command(BaseCommand):
    """Writes {"token", "login_url"} to a file with mode 0600."""

    help = "Migrate, collect static files, make a first team, and write its token and a login link to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file to write."""
        parser.add_argument("--answer", type=Path, required=True)

    def handle(self, *args: Any, answer: Path, **options: Any) -> None:
        """Do all of it, or say in one sentence why not."""
        try:
            # Past the pool, which would try again and again and then not say why.
            psycopg.connect(**connection.get_connection_params()).close()
        except psycopg.OperationalError as problem:
            reason = " ".join(str(problem).split())
            raise CommandError(f"The database does not answer: {reason}") from None
        if _is_behind():
            call_command("migrate", interactive=False, verbosity=0)
        try:
            collect(settings.DATA.static)
        except OSError as problem:
            raise CommandError(f"Cannot write static files to {settings.DATA.static}: {problem.strerror}.") from None
        kept = settings.DATA.token
        known = kept.read_text().strip() if kept.exists() else ""
        _, user, token = ensure_first_team(known)
        if token != known:
            write_private(kept, token)
        login_url = settings.PUBLIC_URL + login_links.make(user)
        write_private(answer, json.dumps({"token": token, "login_url": login_url}))


def _is_behind() -> bool:
    """Whether there is anything to migrate: asking is quick, and most starts are second ones."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
