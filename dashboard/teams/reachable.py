"""Whether an installation runs at all: what a command asks first, instead of waiting for the pool's patience."""

import psycopg
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

_SECONDS = 3


def reach_database() -> None:
    """Raise CommandError, in one sentence, where no database answers; without the pool, which tries long and warns."""
    try:
        psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": _SECONDS}).close()
    except psycopg.OperationalError:
        raise CommandError(
            f"No Roundwatch runs on {settings.DATA.root}. Start it with sh deploy/up, or say where by ROUNDWATCH_DATA."
        ) from None
