"""Ending tasks for good."""

import asyncio
from collections.abc import Collection
from typing import Any

_AGAIN_S = 0.2


async def end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and return when none runs any more; what they raise is theirs."""
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        # Once is not enough: the Redis client may swallow a cancellation while it reads.
        await asyncio.wait(running, timeout=_AGAIN_S)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asked for, so that nobody logs it as never retrieved
