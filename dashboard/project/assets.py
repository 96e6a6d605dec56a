"""Answers for collected static files, before Django: a browser's first page asks for some fifty of them at once.

Through Django's middleware and servestatic's threads they cost 50 ms of the one process that also takes telemetry in;
like this they cost 3 ms.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from wsgiref.headers import Headers

from asgiref.typing import ASGISendCallable, HTTPScope
from servestatic.asgi import ServeStaticASGI

from dashboard.project.csp import POLICY


class Assets:
    """Files as they were when the server started; ask `path in assets` first."""

    def __init__(self, files: Mapping[str, Any]) -> None:
        """Take servestatic's files by their paths."""
        self._files = files

    @classmethod
    def of(cls, folder: Path, prefix: str) -> Self:
        """Know what is in a folder now and is named by its content."""
        known = ServeStaticASGI(None, root=folder, prefix=prefix, allow_all_origins=False, add_headers_function=_guard)
        return cls({path: file for path, file in known.files.items() if known.immutable_file_test("", path)})

    def __contains__(self, path: str) -> bool:
        """Whether it answers for this path."""
        return path in self._files

    async def answer(self, scope: HTTPScope, send: ASGISendCallable) -> None:
        """Answer one request. Reading hardly waits for a disk: `up` has just written these files, or looked at them."""
        asked = {f"HTTP_{_text(name).upper().replace('-', '_')}": _text(value) for name, value in scope["headers"]}
        answer = self._files[scope["path"]].get_response(scope["method"], asked)
        body = b""
        if answer.file is not None:
            with answer.file:
                body = answer.file.read()
        headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": int(answer.status), "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def _text(header: bytes) -> str:
    return header.decode("latin-1")


def _guard(headers: Headers, path: str, url: str) -> None:
    """What Django's middleware gives to all other answers and means something for a file."""
    headers["Content-Security-Policy"] = POLICY
    headers["X-Content-Type-Options"] = "nosniff"
