"""What each way to tell people is given, and what it has to offer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID


class Undelivered(Exception):  # noqa: N818 - what happened, not an error of ours
    """Why a letter did not arrive, in a sentence that members of the team read; it holds no secret.

    `for_good` says that another try would end so, too.
    """

    def __init__(self, why: str, *, for_good: bool = False) -> None:
        super().__init__(why)
        self.for_good = for_good


@dataclass(frozen=True, slots=True)
class Letter:
    """A message and its key, which is the same for all tries. `content` is that of dashboard.alerts.message."""

    key: UUID
    content: dict[str, Any]

    @property
    def title(self) -> str:
        """One line, marked where somebody is to be woken."""
        return ("PAGE: " if self.content["page"] else "") + str(self.content["title"])

    @property
    def text(self) -> str:
        """Some lines, the last of them a link."""
        return str(self.content["text"])


@dataclass(frozen=True, slots=True)
class Way:
    """A way to tell people.

    `check(to)` returns where to as it is kept, or raises ValueError with a sentence. `send(to, secret, letter)` takes
    at most some six seconds and returns what the receiver said, or raises Undelivered. `shown(to)` may be seen by
    those who may not change the channel.
    """

    key: str
    label: str
    asks: str
    example: str
    check: Callable[[str], str]
    send: Callable[[str, str, Letter], str]
    shown: Callable[[str], str]
