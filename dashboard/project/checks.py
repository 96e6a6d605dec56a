"""System checks that speak at start, when a setting would fail only later or only for some."""

import ipaddress
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning


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
