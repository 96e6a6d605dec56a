"""What doctor asks the server: whether it answers, takes our token, and how far its clock is from ours."""

import http.client
import os
import time
from collections.abc import Iterator

from roundwatch import identity, wire
from roundwatch.cli.checks import Line
from roundwatch.clock import Clock
from roundwatch.opening import check_token, check_url
from roundwatch.post import Post, Reply

TIMEOUT_S = 5.0
EXCHANGES = 3
MAX_SKEW_NS = 600_000_000_000  # the server takes no times further ahead than ten minutes
SAYS = {
    401: "the token is refused: it is wrong, revoked, of another server, or lacks the scope 'ingest'",
    404: "there is no Roundwatch at this address",
    413: "refuses even an empty request as too large",
    429: "asks us to come back later",
    503: "is there but overloaded or starting",
}


def lines() -> Iterator[Line]:
    """One line for the server and one for the clocks."""
    url = os.environ.get("ROUNDWATCH_URL", "")
    if not url:
        yield Line(
            "warn", "server", "ROUNDWATCH_URL is not set: trainings record offline, `roundwatch sync` sends later"
        )
        return
    try:
        check_url(url)
    except ValueError as error:
        yield Line("bad", "server", str(error))
        return
    try:
        token = check_token(os.environ.get("ROUNDWATCH_TOKEN", ""))
    except ValueError as error:
        yield Line("bad", "token", str(error))
        return
    if not token:
        yield Line("bad", "token", "ROUNDWATCH_TOKEN is not set; the page 'Connect a run' makes one")
        return
    clock = Clock()
    post = Post(url, token, TIMEOUT_S)
    try:
        took_ns = min(_exchange(post, clock) for _ in range(EXCHANGES))
    except (OSError, http.client.HTTPException, ValueError) as error:
        yield Line("bad", "server", f"{url}: {error}")
        return
    finally:
        post.close()
    yield Line("ok", "server", f"{url} answers in {took_ns / 1e6:.1f} ms and takes our token")
    yield _clock_line(clock)


def _exchange(post: Post, clock: Clock) -> int:
    """Sends a request without batches; returns how long it took. Raises ValueError with what the server said."""
    t1 = time.monotonic_ns()
    request = wire.Request(t1_ns=t1, wall_ns=time.time_ns(), machine=identity.machine())
    reply = post.send(wire.encode(request))
    t4 = time.monotonic_ns()
    if not 200 <= reply.status < 300:
        raise ValueError(_refusal(reply))
    answer = wire.decode_answer(reply.body)
    clock.learn(answer.clock, t1, answer.t2_ns, answer.t3_ns, t4)
    return t4 - t1


def _refusal(reply: Reply) -> str:
    later = f" (in {reply.retry_after} s)" if reply.retry_after else ""
    return SAYS.get(reply.status, f"answered {reply.status}: {reply.body[:200]!r}") + later


def _clock_line(clock: Clock) -> Line:
    now, wall = time.monotonic_ns(), time.time_ns()
    offset_ns, error_ns = clock.offset(now, wall)
    if error_ns is None:
        return Line("warn", "clock", "the server's answer tells no time; times are by this host's own clock")
    ahead_ns = wall - now - offset_ns
    way = "ahead of" if ahead_ns >= 0 else "behind"
    text = f"this host's wall clock is {abs(ahead_ns) / 1e6:.1f} ms {way} the server's, ± {error_ns / 1e6:.1f} ms"
    if abs(ahead_ns) > MAX_SKEW_NS:
        return Line("warn", "clock", f"{text}: explicit times (record_phase) will be refused; set the clock")
    return Line("ok", "clock", f"{text}; recorded times are corrected by it")
