"""System checks that speak at start, when a setting would fail only later or only for some."""

import ipaddress
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning

_LEAST_KEY, _LEAST_DIFFERENT = 50, 5  # as Django's own check of a deployment has them


@register(Tags.security)
def secret_key_lasts(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn when every restart would log everybody out, because the key is of this process only."""
    if settings.SECRET_KEY_IS_LASTING:
        return []
    return [
        CheckWarning(
            "The secret key is made anew by each process, so sessions and links end with it.",
            hint=f"Set ROUNDWATCH_SECRET_KEY, or ROUNDWATCH_DATA to the folder of `up` (now {settings.DATA.root}).",
            id="roundwatch.W001",
        )
    ]


@register(Tags.security)
def plain_http_is_local(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn when passwords and tokens would cross a network in the clear."""
    if settings.HTTPS or len(settings.ORIGINS) > 1:  # several origins: the address is this machine's loopback
        return []
    return [
        CheckWarning(
            f"{settings.PUBLIC_URL} is reached over plain http: passwords and tokens can be read on the way.",
            hint="Put a TLS proxy in front and give its address with --public-url https://...",
            id="roundwatch.W002",
        )
    ]


@register(Tags.security)
def single_sign_on_is_sealed(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn when whoever is on the way to the provider could sign in as anybody."""
    issuer = urlsplit(settings.OIDC["settings"]["server_url"]) if settings.OIDC else None
    if issuer is None or issuer.scheme == "https" or _is_loopback(issuer.hostname or ""):
        return []
    return [
        CheckWarning(
            "ROUNDWATCH_OIDC_ISSUER is asked over plain http: who is on the way can sign in as anybody.",
            hint="Give its https:// address.",
            id="roundwatch.W003",
        )
    ]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@register(Tags.security)
def secret_key_is_secret(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn of a key that can be guessed: whoever has it signs in as anybody."""
    if len(settings.SECRET_KEY) >= _LEAST_KEY and len(set(settings.SECRET_KEY)) >= _LEAST_DIFFERENT:
        return []
    return [
        CheckWarning(
            f"The secret key is short or uniform: it should have at least {_LEAST_KEY} characters, drawn by chance.",
            hint="Unset ROUNDWATCH_SECRET_KEY, and `up` makes one and keeps it.",
            id="roundwatch.W004",
        )
    ]


@register(Tags.security)
def debug_is_local(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn where others would read settings and code in Django's debug pages."""
    if not settings.DEBUG or len(settings.ORIGINS) > 1:
        return []
    return [
        CheckWarning(
            f"ROUNDWATCH_DEBUG shows settings and code to whoever reaches {settings.PUBLIC_URL} and finds an error.",
            hint="Unset ROUNDWATCH_DEBUG.",
            id="roundwatch.W005",
        )
    ]


@register()
def mail_has_a_way(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Warn where a password for mail is set and no server to hand it to."""
    if settings.EMAIL_HOST or not (settings.EMAIL_HOST_USER or settings.EMAIL_HOST_PASSWORD):
        return []
    return [
        CheckWarning(
            "A user or password for mail is set, but no server: mail goes to the log and reaches nobody.",
            hint="Set ROUNDWATCH_SMTP_HOST, or unset ROUNDWATCH_SMTP_USER and ROUNDWATCH_SMTP_PASSWORD.",
            id="roundwatch.W006",
        )
    ]
