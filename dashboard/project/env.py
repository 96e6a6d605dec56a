"""Typed readers of environment variables; each refuses a bad value with one sentence that names the variable."""

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# A name or address; a dot before it means all names under it, an asterisk any name at all.
_HOST = re.compile(r"\.?[A-Za-z0-9_-][A-Za-z0-9._-]*|\[?[0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\]?|\*")
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "", *, source: Mapping[str, str] = os.environ) -> str:
    """Return the variable's text without surrounding blanks, or the default where it is unset or blank."""
    return source.get(name, "").strip() or default


def flag(name: str, *, default: bool = False, source: Mapping[str, str] = os.environ) -> bool:
    """Return a yes-or-no variable.

    Raises ImproperlyConfigured for anything but 1/0, true/false, yes/no, on/off.
    """
    value = source.get(name)
    if value is None:
        return default
    if value.strip().lower() in _TRUE:
        return True
    if value.strip().lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")


def choice(name: str, known: Sequence[str], default: str = "", *, source: Mapping[str, str] = os.environ) -> str:
    """Return one of the `known` words, whatever its case; unset, the default or the first of them.

    Raises ImproperlyConfigured for any other.
    """
    value = text(name, default or known[0], source=source)
    for one in known:
        if value.lower() == one.lower():
            return one
    raise ImproperlyConfigured(f"{name} must be {', '.join(known[:-1])} or {known[-1]}, not {value!r}.")


def number(
    name: str, default: int, *, least: int = 0, most: int | None = None, source: Mapping[str, str] = os.environ
) -> int:
    """Return a whole number of at least `least` and at most `most`; raises ImproperlyConfigured for anything else."""
    value = text(name, str(default), source=source)
    try:
        result = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if result < least:
        raise ImproperlyConfigured(f"{name} must be at least {least}, not {result}.")
    if most is not None and result > most:
        raise ImproperlyConfigured(f"{name} must be at most {most}, not {result}.")
    return result


def listing(name: str, default: tuple[str, ...] = (), *, source: Mapping[str, str] = os.environ) -> list[str]:
    """Return the comma-separated items of a variable, blanks removed."""
    return [item.strip() for item in source.get(name, ",".join(default)).split(",") if item.strip()]


def hosts(name: str, *, source: Mapping[str, str] = os.environ) -> list[str]:
    """Return comma-separated host names as a browser's Host header has them; raises ImproperlyConfigured for others."""
    found = listing(name, source=source)
    for host in found:
        if not _HOST.fullmatch(host):
            raise ImproperlyConfigured(f"{name} must hold names such as watch.example.org, without more: not {host!r}.")
    return found


def networks(name: str, *, source: Mapping[str, str] = os.environ) -> tuple[Network, ...]:
    """Return the comma-separated networks of a variable, such as 10.1.0.0/16; raises ImproperlyConfigured."""
    try:
        return tuple(map(ipaddress.ip_network, listing(name, source=source)))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must hold networks such as 10.1.0.0/16: {error}.") from None


def web_url(name: str, default: str, *, source: Mapping[str, str] = os.environ) -> str:
    """Return an http(s) origin such as https://watch.example.org, without a trailing slash.

    Raises ImproperlyConfigured when scheme or host is missing, or when a path, query or fragment is given.
    """
    value = text(name, default, source=source).rstrip("/")
    parts = urlsplit(value)
    try:
        bad_port = parts.port == 0
    except ValueError:
        bad_port = True
    more = parts.path or parts.query or parts.fragment or parts.username
    if bad_port or parts.scheme not in {"http", "https"} or not parts.hostname or more:
        raise ImproperlyConfigured(f"{name} must look like https://watch.example.org, not {value!r}.")
    return value


def single_sign_on(prefix: str, *, source: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
    """Return allauth's settings of an OpenID Connect provider, None where `PREFIX_ISSUER` names none.

    Raises ImproperlyConfigured where only a part is given, or the issuer is no http(s) address without query.
    """
    issuer, client_id, secret = (
        text(f"{prefix}_{part}", source=source) for part in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET")
    )
    if not issuer:
        if client_id or secret:
            raise ImproperlyConfigured(f"{prefix}_ISSUER is missing beside the rest of {prefix}_*.")
        return None
    if not (client_id and secret):
        raise ImproperlyConfigured(f"{prefix}_ISSUER needs {prefix}_CLIENT_ID and {prefix}_CLIENT_SECRET beside it.")
    parts = urlsplit(issuer)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{prefix}_ISSUER must look like https://login.example.org/realm, not {issuer!r}.")
    return {
        "provider_id": "oidc",
        "name": text(f"{prefix}_NAME", "single sign-on", source=source)[:40],
        "client_id": client_id,
        "secret": secret,
        "settings": {"server_url": issuer.rstrip("/"), "oauth_pkce_enabled": True},
    }


def redis_url(name: str, default: str, *, source: Mapping[str, str] = os.environ) -> str:
    """Return the URL of a Redis or Valkey; raises ImproperlyConfigured where it is none, without repeating it."""
    url = text(name, default, source=source)
    parts = urlsplit(url)
    # It may hold a password, so it is not repeated.
    if parts.scheme not in {"redis", "rediss", "unix"} or not (parts.path if parts.scheme == "unix" else parts.netloc):
        raise ImproperlyConfigured(f"{name} must be a redis://, rediss:// or unix:// URL.")
    return url


def database(name: str, default: str, *, source: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return Django's settings for a postgresql:// URL in any form that libpq accepts.

    Raises ImproperlyConfigured when libpq cannot read it or it names no database.
    """
    url = text(name, default, source=source)
    if not url.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured(f"{name} must be a postgresql:// URL.")
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError:
        # The URL may hold a password, so neither it nor libpq's message is repeated.
        raise ImproperlyConfigured(f"{name} is no URL that Postgres understands.") from None
    if not parts.get("dbname"):
        raise ImproperlyConfigured(f"{name} names no database.")
    known = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    settings: dict[str, Any] = {known[key]: str(value) for key, value in parts.items() if key in known}
    settings["OPTIONS"] = {key: value for key, value in parts.items() if key not in known}
    return settings
