"""Asking the server's REST, for commands that read: JSON, pages of lists, and files that are never whole in memory."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, BinaryIO

from roundwatch.opening import check_token, check_url

TIMEOUT_S = 60.0
MAX_ANSWER_BYTES = 16 << 20
_CHUNK = 1 << 18


class RestError(Exception):
    """Why there is no answer, in words for people."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token goes to the server that it was given for and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Rest:
    """A server and a token of its."""

    def __init__(self, url: str, token: str) -> None:
        """Raises ValueError for an address or a token that cannot be one."""
        check_url(url)
        self._base = url.rstrip("/") + "/api/v1"
        self._token = check_token(token)
        self._open = urllib.request.build_opener(_NoRedirects).open

    def get(self, path: str) -> Any:
        """What the server answers. Raises RestError."""
        return self._json(self._asked(path))

    def post(self, path: str, body: Any) -> Any:
        """The same for a body."""
        return self._json(self._asked(path, json.dumps(body).encode()))

    def newest(self, path: str, most: int) -> Iterator[Any]:
        """The first items of a list, at most so many."""
        cursor, told = "", 0
        while told < most:
            page = self.get(f"{path}?limit=100{f'&cursor={cursor}' if cursor else ''}")
            yield from page["items"]
            told, cursor = told + len(page["items"]), page["next"]
            if not cursor:
                return

    def fetch(self, path: str, to: BinaryIO) -> int:
        """Writes a file's bytes; returns how many. Raises RestError also where the connection ends before it does."""
        with self._answer(self._asked(path)) as answer:
            size = 0
            try:
                while chunk := answer.read(_CHUNK):
                    to.write(chunk)
                    size += len(chunk)
            except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
                raise RestError(f"the connection ended before the file did: {error}") from error
        expected = answer.headers.get("Content-Length")
        if expected is not None and int(expected) != size:
            raise RestError("the connection ended before the file did")
        return size

    def _asked(self, path: str, body: bytes | None = None) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "roundwatch"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return urllib.request.Request(self._base + path, body, headers)  # noqa: S310 - check_url lets only http(s) in

    def _json(self, asked: urllib.request.Request) -> Any:
        with self._answer(asked) as answer:
            body = answer.read(MAX_ANSWER_BYTES)
        try:
            return json.loads(body)  # what is cut is not JSON any more
        except ValueError:
            raise RestError(f"what {asked.full_url} answers is not Roundwatch's") from None

    def _answer(self, asked: urllib.request.Request) -> http.client.HTTPResponse:
        try:
            answer: http.client.HTTPResponse = self._open(asked, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            with error:
                raise RestError(_refusal(error.code, error.read(1 << 16))) from None
        except (OSError, http.client.HTTPException) as error:
            raise RestError(f"{self._base}: {getattr(error, 'reason', error)}") from error
        return answer


def _refusal(status: int, body: bytes) -> str:
    """What the server says, or its status where it says nothing that we know."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {status}"
