"""How long a well-behaved team waits for its answers: alone, beside a flood of honest data, and of hostile bodies.

Run as `python -m tests.bench tenants [--rate N]`. The team's two shippers send a request of 200 ended phases N times
a second between them, twenty unless told otherwise, whatever the answers take: a wait counts from when the request
was due, so one that queues behind another is not passed over. Beside it a second team, in a process of its own, sends
over sixteen connections: ten times as much, in requests of the same size; or as fast as it is answered, without heed
of Retry-After, full requests of 2,000 phases, or bodies made to cost as much as they can. In one more setting the ten
times as much go to another product on this machine, with servers of its own: what the team waits then is the
machine's, and no matter of fairness. All take turns. /healthz is asked ten times a second meanwhile.
"""

import argparse
import contextlib
import http.client
import itertools
import multiprocessing
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.synchronize import Event
from typing import Any
from urllib.parse import urlsplit

from roundwatch import wire
from tests.bench.ingest_rate import Sender
from tests.bench.processes import cpu_seconds
from tests.bench.stage import Stage, stage
from tests.bench.table import Row, conditions, percentile, show
from tests.ingest.api.hostile import hostile_bodies

SENDERS, RECORDS = 2, 200
FLOOD_CONNECTIONS, FLOOD_RECORDS, FLOOD_REQUESTS = 16, 2_000, 70
TENFOLD = 10
TURN_S, TURNS = 10, 3


def post(connection: http.client.HTTPConnection, token: str, body: bytes) -> int:
    """Send one request; returns the answer's status."""
    connection.request("POST", wire.PATH, body, {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip"})
    response = connection.getresponse()
    response.read()
    return response.status


@dataclass(frozen=True)
class Load:
    """What a neighbour sends over and over: bodies for each connection, so many seconds apart, or without a pause."""

    bodies: Sequence[Sequence[bytes]]
    apart_s: float = 0.0


def flood(place: Stage, load: Load, stop: Event, answers: Any) -> None:
    """Send until `stop`; puts the statuses' counts in `answers`."""
    found: list[Counter[int]] = []

    def send(mine: Sequence[bytes]) -> None:
        seen: Counter[int] = Counter()
        connection = http.client.HTTPConnection(urlsplit(place.url).netloc)
        due = time.monotonic()
        for body in itertools.cycle(mine):
            if stop.wait(max(due - time.monotonic(), 0)):
                break
            due = max(due, time.monotonic() - 1) + load.apart_s
            try:
                seen[post(connection, place.token, body)] += 1
            except (OSError, http.client.HTTPException):
                seen[0] += 1
                connection.close()
        found.append(seen)

    threads = [threading.Thread(target=send, args=(mine,)) for mine in load.bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers.put(sum(found, Counter()))


@dataclass(frozen=True)
class Team:
    """Who behaves: its shippers, and how many requests a second they send together."""

    senders: Sequence[Sender]
    rate: float


@dataclass
class Waits:
    """What the team saw in one setting, in seconds, and what its neighbour was answered."""

    posts: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    refused: int = 0
    neighbour: Counter[int] = field(default_factory=Counter)
    cpu: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    seconds: float = 0.0


def rows(name: str, waits: Waits, alone: Waits) -> Iterator[Row]:
    """What the team waited in a setting, beside what it waits alone."""
    for share in (0.5, 0.95, 0.99):
        ours, reference = (percentile(each.posts, share) * 1000 for each in (waits, alone))
        yield Row(name=f"p{share * 100:.0f} of ingest, {name}", ours=ours, unit="ms", reference=reference)
    ours, reference = (percentile(each.health, 0.99) * 1000 for each in (waits, alone))
    yield Row(name=f"p99 of /healthz, {name}", ours=ours, unit="ms", reference=reference)
    for part in ("web", "postgres"):
        yield Row(name=f"CPU of {part}, {name}", ours=waits.cpu[part] / waits.seconds * 100, unit="% of a core")
    yield Row(name=f"requests of the team refused, {name}", ours=waits.refused, most=0)
    for status, count in sorted(waits.neighbour.items()):
        yield Row(name=f"answers {status or 'cut off'} to the neighbour, {name}", ours=count)


def behave(place: Stage, sender: Sender, apart_s: float, waits: Waits, until: float) -> None:
    """Send at an even pace until then, counting each wait from when its request was due."""
    connection = http.client.HTTPConnection(urlsplit(place.url).netloc)
    bodies = iter(sender.bodies(RECORDS, int(TURN_S / apart_s * 1.2)))
    due = time.monotonic()
    while due < until:
        time.sleep(max(due - time.monotonic(), 0))
        if post(connection, place.token, next(bodies)) != 200:
            waits.refused += 1
        waits.posts.append(time.monotonic() - due)
        due += apart_s
    connection.close()


def look(place: Stage, waits: Waits, until: float) -> None:
    """Ask /healthz until then."""
    while (began := time.monotonic()) < until:
        urllib.request.urlopen(f"{place.url}/healthz", timeout=30).close()
        waits.health.append(time.monotonic() - began)
        time.sleep(0.1)


def take_turn(place: Stage, team: Team, waits: Waits) -> None:
    """The team's `TURN_S` seconds."""
    began, before = time.monotonic(), cpu_seconds(place.parts)
    until = began + TURN_S
    apart_s = len(team.senders) / team.rate
    threads = [threading.Thread(target=behave, args=(place, each, apart_s, waits, until)) for each in team.senders]
    threads.append(threading.Thread(target=look, args=(place, waits, until)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waits.seconds += time.monotonic() - began
    for part, used in cpu_seconds(place.parts).items():
        waits.cpu[part] += used - before[part]


def serve_elsewhere(answers: Any, stop: Event) -> None:
    """Another product, with nothing of this one's but the machine; puts itself in `answers`, ends with `stop`."""
    with stage() as place:
        answers.put(place)
        stop.wait()


@contextlib.contextmanager
def elsewhere() -> Iterator[Stage]:
    """Another product in a process of its own, gone when the block ends."""
    spawn = multiprocessing.get_context("spawn")
    stop, answers = spawn.Event(), spawn.Queue()
    process = spawn.Process(target=serve_elsewhere, args=(answers, stop))
    process.start()
    try:
        yield answers.get(timeout=60)
    finally:
        stop.set()
        process.join(60)
        process.kill()


def beside(place: Stage, team: Team, waits: Waits, theirs: Stage, load: Load) -> None:
    """A turn beside a neighbour who sends to a stage, by its token, from before the turn until after it."""
    spawn = multiprocessing.get_context("spawn")
    stop, answers = spawn.Event(), spawn.Queue()
    neighbour = spawn.Process(target=flood, args=(theirs, load, stop, answers))
    neighbour.start()
    try:
        time.sleep(2)
        take_turn(place, team, waits)
        stop.set()
        waits.neighbour += answers.get(timeout=60)
    finally:
        stop.set()
        neighbour.join(60)
        neighbour.kill()


def second_team() -> str:
    """A token of another team than the stage's."""
    from django.db import connection

    from dashboard.teams.models import Team
    from dashboard.teams.tokens import issue

    token = issue(Team.objects.create(name="Neighbour", slug="neighbour"), "bench", ["ingest"])
    connection.close_pool()  # type: ignore[attr-defined]
    return token


def main() -> None:
    """Take turns and print quantiles."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=20, help="requests a second of the team that behaves")
    rate = parser.parse_args().rate
    team = Team([Sender("behaved", number, 1) for number in range(SENDERS)], rate)
    fillers = [Sender("flood", number, 8) for number in range(FLOOD_CONNECTIONS)]
    costly = list(hostile_bodies().values())
    hostile = Load([costly[number:] + costly[:number] for number in range(FLOOD_CONNECTIONS)])
    apart_s = FLOOD_CONNECTIONS / (rate * TENFOLD)
    alone, tenfold, machine, honest, attacked = (Waits() for _ in range(5))
    conditions("tenants", f"{rate:g} requests a second, {TURNS} turns of {TURN_S} s each")
    with stage() as place, elsewhere() as other:
        theirs = replace(place, token=second_team())
        take_turn(place, team, Waits())  # fills caches
        for _ in range(TURNS):
            take_turn(place, team, alone)
            paced = Load([filler.bodies(RECORDS, int((TURN_S + 5) / apart_s)) for filler in fillers], apart_s)
            beside(place, team, tenfold, theirs, paced)
            beside(place, team, machine, other, paced)
            filling = [filler.bodies(FLOOD_RECORDS, FLOOD_REQUESTS) for filler in fillers]
            beside(place, team, honest, theirs, Load(filling))
            beside(place, team, attacked, theirs, hostile)
    show([*rows("alone", alone, alone), *rows("beside ten times as much", tenfold, alone)])
    show(rows("while those go to another product on this machine", machine, alone))
    show([*rows("beside an honest flood", honest, alone), *rows("beside hostile bodies", attacked, alone)])


if __name__ == "__main__":
    main()
