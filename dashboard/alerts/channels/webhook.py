"""A webhook: the message as JSON, signed, to an address that the team chose."""

import hashlib
import hmac
import json
import re
import time
from urllib.parse import urlsplit

from django.conf import settings

from dashboard.alerts.channels import addresses, posting
from dashboard.alerts.channels.letter import Letter, Way

_MOST_CHARS = 1000
_URL = re.compile(r"[!-~]+")


def check(to: str) -> str:
    """An http(s) URL with a host that is not refused, and without a name and password in it; raises ValueError."""
    to = to.strip()
    try:
        parts = urlsplit(to)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or not _URL.fullmatch(to) or len(to) > _MOST_CHARS:
        raise ValueError("This is no address like https://hooks.example.org/path.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("Put no name and password into the address; check the signature instead.")
    if why := addresses.refusal(str(parts.hostname), settings.WEBHOOK_NETWORKS):
        raise ValueError(why)
    return to


def signature(secret: str, at: int, body: bytes) -> str:
    """`t=UNIX SECONDS,v1=HEX` with the HMAC-SHA-256 of "SECONDS.BODY" under the channel's secret (RFC 2104)."""
    made = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={made.hexdigest()}"


def send(to: str, secret: str, letter: Letter) -> str:
    """POST the content with its key; the body is the same for all tries, the signature of each its own."""
    body = json.dumps({"id": str(letter.key), **letter.content}, ensure_ascii=False).encode("utf-8", "replace")
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Roundwatch",
        "Idempotency-Key": str(letter.key),
        "Roundwatch-Signature": signature(secret, int(time.time()), body),
    }
    return posting.post(to, body, headers, networks=settings.WEBHOOK_NETWORKS)


def _shown(to: str) -> str:
    """The host alone: a path may be all the secret that its receiver has."""
    return f"{urlsplit(to).scheme}://{urlsplit(to).hostname}/…"


WAY = Way("webhook", "Webhook", "Address (http or https)", "https://hooks.example.org/roundwatch", check, send, _shown)
