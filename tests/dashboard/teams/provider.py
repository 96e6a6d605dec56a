"""A small OpenID Connect provider on the loopback: discovery, authorization code with PKCE, signed tokens, keys."""

import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "roundwatch", "of the provider"


@dataclass
class Provider:
    """`person` is who is signed in there: claims, or None for somebody who breaks it off.

    `signs_with` is the key of its tokens, `shows` the one that it publishes; `says_of` overrides what userinfo answers.
    """

    url: str = ""
    person: dict[str, Any] | None = None
    signs_with: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    shows: rsa.RSAPrivateKey | None = None
    says_of: dict[str, Any] | None = None
    issuer: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What a server is told of it."""
        told = {"ISSUER": self.url, "CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET, "NAME": "Campus login"}
        return {f"ROUNDWATCH_OIDC_{name}": value for name, value in told.items()}

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo", "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"], "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }  # fmt: skip

    def keys(self) -> dict[str, Any]:
        public = (self.shows or self.signs_with).public_key()
        key = jwt.algorithms.RSAAlgorithm.to_jwk(public, as_dict=True)
        return {"keys": [{**key, "kid": "1", "use": "sig", "alg": "RS256"}]}

    def authorized(self, asked: dict[str, str]) -> str:
        """Where a browser goes on to from the page on which somebody signs in."""
        back = {"state": asked["state"]}
        if self.person is None:
            back["error"] = "access_denied"
        else:
            assert (asked["client_id"], asked["response_type"]) == (CLIENT_ID, "code")
            assert "openid" in asked["scope"].split()
            back["code"] = secrets.token_urlsafe(16)
            self.codes[back["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def token(self, asked: dict[str, str]) -> dict[str, Any] | None:
        """A token for a code, once; None for a client that does not show what it must."""
        grant = self.codes.pop(asked.get("code", ""), None)
        if grant is None or (asked.get("client_id"), asked.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return None
        verifier = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if (grant.get("code_challenge"), grant["redirect_uri"]) != (challenge, asked.get("redirect_uri")):
            return None
        now = int(time.time())
        claims = {"iss": self.issuer or self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 60, **(self.person or {})}
        signed = jwt.encode(claims, self.signs_with, algorithm="RS256", headers={"kid": "1"})
        return {"access_token": "of one person", "token_type": "Bearer", "expires_in": 60, "id_token": signed}


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider at a port of its own."""
    provider = Provider()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            provider.asked.append(parts.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorized(_flat(parts.query)))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif parts.path == "/userinfo":
                assert self.headers["Authorization"] == "Bearer of one person"
                self._answer(provider.says_of or provider.person)
            else:
                answers = {"/.well-known/openid-configuration": provider.discovery, "/keys": provider.keys}
                self._answer(answers[parts.path]() if parts.path in answers else None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(provider.token(_flat(body)) if self.path == "/token" else None)

        def _answer(self, what: dict[str, Any] | None) -> None:
            body = json.dumps(what if what is not None else {"error": "invalid_grant"}).encode()
            self.send_response(400 if what is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
