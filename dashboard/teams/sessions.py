"""Sessions in the database, asked for only by keys that may be: a cookie can hold what no text of Postgres can."""

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions


class SessionStore(DatabaseSessions):
    """Django's sessions."""

    def _validate_session_key(self, key: Any) -> bool:
        return bool(super()._validate_session_key(key)) and key.isascii() and key.isalnum()  # type: ignore[misc]
