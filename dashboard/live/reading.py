"""Database reads of the event loop: in a few threads of their own, so that neither waits for the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

Given = ParamSpec("Given")
Result = TypeVar("Result")

_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live")
# A picture may hold ten megabytes: two at a time bound what a crowd that comes back at once can take.
_painters = ThreadPoolExecutor(max_workers=2, thread_name_prefix="live-picture")


async def in_thread(read: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """What `read` returns or raises, run in a thread; its database connection goes back to the pool."""
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: _call(read, *args, **kwargs))


async def in_line(read: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """As `in_thread`, for large reads: they queue up for two threads and never delay the small ones."""
    return await asyncio.get_running_loop().run_in_executor(_painters, lambda: _call(read, *args, **kwargs))


def _call(read: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    close_old_connections()
    try:
        return read(*args, **kwargs)
    finally:
        close_old_connections()
