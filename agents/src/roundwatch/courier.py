"""Sends what waits, again and again, and never gives up: what each answer means for the next attempt."""

import http.client
import logging
import random
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from roundwatch import wire
from roundwatch.clock import Clock
from roundwatch.post import Post, Reply
from roundwatch.preparing import Prepared, Preparer

logger = logging.getLogger("roundwatch")
PERIOD_S = 0.25  # longer than news takes to come while there is any: then it alone sets the pace
# Short enough that a server which is back is met within 3 s.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
REFUSED_PAUSE_S = 30.0
MAX_RETRY_AFTER_S = 300.0
MAX_SURPRISES = 20
HALVINGS = 26  # twice what it takes to find one record among as many as a request holds
FAILURES = (OSError, http.client.HTTPException, ValueError)
Asked = Callable[[list[Any]], None]


class Courier:
    """The one sender of a shipper: `run` in a thread of its own, or `step` by whoever wants to wait for it.

    `asked` is given what the server wishes, as `wire.Answer.ask` has it.
    """

    def __init__(self, post: Post, preparer: Preparer, clock: Clock, asked: Asked = lambda _: None) -> None:
        self._post, self._preparer, self._clock, self._asked = post, preparer, clock, asked
        self._news = threading.Event()
        self._halt = threading.Event()
        self._failures = self._halvings = 0
        self.met = False  # whether the server has taken a request
        self.trouble = ""  # why the last request did not succeed
        self.hopeless = False  # whether trying again will not help by itself
        self.broken = False  # whether `run` has given up: a new process may do better

    def run(self) -> None:
        """Sends until `stop` is called, or until it failed again and again in a way that is not provided for."""
        surprises = 0
        while not self._halt.is_set():
            try:
                pause = self.step()
                surprises = 0
            except Exception as error:
                logger.exception("sending failed in a way that is not provided for")
                pause = self._failed(repr(error))
                surprises += 1
            if surprises >= MAX_SURPRISES:
                self.broken = True
                return
            if self._failures:
                self._halt.wait(pause)  # no news shortens the wait after a failure
            elif pause:
                self._news.wait(pause)
                self._news.clear()

    def wake(self) -> None:
        """Something new waits to be sent."""
        self._news.set()

    def stop(self) -> None:
        """Ends `run` after the request that is under way."""
        self._halt.set()
        self._news.set()

    def close(self) -> None:
        """Ends the connection to the server."""
        self._post.close()

    def step(self) -> float:
        """Sends one request if there is something to send. Returns the seconds to wait before the next."""
        prepared = self._preparer.next() if self.met else self._preparer.hello()
        if prepared is None:
            return PERIOD_S
        try:
            body = wire.encode(prepared.request)
        except (ValueError, TypeError, RecursionError) as error:
            return 0.0 if self._preparer.too_large(prepared) else self._failed(f"cannot be encoded: {error!r}")
        if len(body) > wire.MAX_COMPRESSED_BYTES and self._preparer.too_large(prepared):
            return 0.0
        try:
            reply = self._exchange(prepared, body)
        except FAILURES as error:
            return self._failed(f"no answer: {error!r}")
        return self._answered(prepared, reply)

    def _exchange(self, prepared: Prepared, body: bytes) -> Reply:
        reply = self._post.send(body)
        if 200 <= reply.status < 300:
            answer = wire.decode_answer(reply.body)
            t4 = time.monotonic_ns()
            self._clock.learn(answer.clock, prepared.request.t1_ns, answer.t2_ns, answer.t3_ns, t4)
            self._preparer.stored(prepared, answer)
            if answer.ask:
                self._asked(answer.ask)
        return reply

    def _answered(self, prepared: Prepared, reply: Reply) -> float:
        if 200 <= reply.status < 300:
            return self._sent(prepared)
        message = f"the server says {reply.status}"
        if reply.status in (413, 422) and self._preparer.too_large(prepared):
            self._halvings += 1
            return 0.0 if self._halvings <= HALVINGS else self._failed(f"{message}, again and again")
        self.hopeless = reply.status == 401
        if self.hopeless:
            return self._failed(f"{message}: the token is not accepted", REFUSED_PAUSE_S)
        if reply.status in (408, 429, 503) and reply.retry_after:
            return self._failed(message, retry_after(reply.retry_after))
        return self._failed(message)

    def _sent(self, prepared: Prepared) -> float:
        if self.trouble:
            logger.info("the server answers again")
        self._failures, self._halvings, self.trouble, self.hopeless = 0, 0, "", False
        first, self.met = not self.met, True
        return 0.0 if first or self._preparer.behind(prepared) else PERIOD_S

    def _failed(self, message: str, pause_s: float | None = None) -> float:
        """Counts a failure, tells each sort of it once, and returns how long to wait: as asked, else ever longer."""
        if self.trouble != message:
            self.trouble = message
            logger.warning("not sent, to be tried again: %s", message)
        self._failures += 1
        if pause_s is None:
            pause_s = min(FIRST_PAUSE_S * 2 ** min(self._failures, 10), LONGEST_PAUSE_S)
        # Thousands of shippers shall not come back at the same moment.
        return pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - spread, not secrecy


def retry_after(text: str) -> float:
    """Seconds that a Retry-After header asks for (a number or a date), at most 5 minutes; 1 for what is neither."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return 1.0
    return min(max(seconds, 0.1), MAX_RETRY_AFTER_S)
