"""A job of many ranks begins smoothly: what it costs does not grow with their number, and numbers stay right."""

import datetime as dt
import random
import threading
import time
from collections.abc import Callable, Iterable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingest.models import PhaseName, Round, Run, Series, Stream, Worker, WorkerRound
from ingest.store import attempts, catalogue, crews, rounds, states, streams, telemetry, tell
from ingest.store.known import Known
from ingest.store.news import Bulletin
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.batches import SECOND, HostRecorder, Recorder, steady_round
from tests.ingest.delivery import deliver, make_job

pytestmark = pytest.mark.django_db

METRICS = 15
# At most once a second a run's row says that it was heard of, and a worker's twice: statements that come by the clock.
BY_THE_CLOCK = 5


@pytest.fixture
def start() -> int:
    """A minute ago."""
    return time.time_ns() - 60 * SECOND


def crew(count: int, run: str, began_ns: int) -> list[Recorder]:
    """Attempts that have begun, eight to a machine, with a reading of each of their metrics."""
    members = []
    for rank in range(count):
        recorder = Recorder(f"rank-{rank}", run=run, began_ns=began_ns, rank=rank, machine=f"machine-{rank // 8}")
        recorder.begin(rounds=3, config={"lr": 0.1})
        for metric in range(METRICS):
            recorder.sample(f"metric-{metric}", 1.0, began_ns + SECOND, device="gpu0")
        members.append(recorder)
    return members


def statements(act: Callable[[], object]) -> int:
    """How many statements `act` sends to the database."""
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def grown(costs: list[tuple[int, ...]]) -> int:
    """By how many statements the second of two costs is above the first, in what differs most."""
    return max(many - few for few, many in zip(*costs, strict=True))


def cost(cast: Cast, batches: Iterable[wire.Batch], *, to_a_request: int = 1_000) -> tuple[int, Bulletin]:
    """How many statements storing takes, in requests of so many batches that wait together; and the news of it."""
    sent = list(batches)
    jobs = [make_job(cast.team.id, *sent[first : first + to_a_request]) for first in range(0, len(sent), to_a_request)]
    written: list[telemetry.Written] = []
    spent = statements(lambda: written.append(telemetry.write(jobs)))
    results = [result.status for outcome in written[0].outcomes for result in outcome.results]
    assert results == ["stored"] * len(sent)
    return spent, written[0].news


def test_512_workers_begin_with_as_few_statements_as_two(cast: Cast, start: int) -> None:
    few, _ = cost(cast, steady_round(crew(2, "small", start), 0, start))
    many, _ = cost(cast, steady_round(crew(512, "large", start), 0, start))
    assert many <= few + BY_THE_CLOCK <= 60
    run = Run.objects.get(key="large")
    assert sorted(Worker.objects.filter(run=run).values_list("index", "rank")) == [(rank, rank) for rank in range(512)]
    assert sorted(Stream.objects.filter(run=run).values_list("index", flat=True)) == list(range(512))
    assert Series.objects.filter(stream__run=run).count() == 512 * METRICS
    assert PhaseName.objects.filter(run=run).count() == 4
    assert WorkerRound.objects.filter(round__run=run).count() == 512


def test_many_runs_begin_with_as_few_statements_as_two(cast: Cast, start: int) -> None:
    spent = []
    for count, project in ((2, "few"), (64, "many")):
        members = [
            Recorder(project=project, run=f"run-{place}", began_ns=start).phase(
                "encode", start, start + SECOND, worker="site-a"
            )
            for place in range(count)
        ]
        spent.append(cost(cast, [member.batch() for member in members])[0])
        assert Run.objects.filter(project=project).count() == count
        assert Worker.objects.filter(run__project=project).count() == 2 * count
        assert set(Stream.objects.filter(run__project=project).values_list("index", "attempt")) == {(0, 0)}
    assert spent[1] <= spent[0] + BY_THE_CLOCK


def test_many_hosts_whose_requests_wait_together_cost_no_more_than_few(cast: Cast, start: int) -> None:
    few, _ = cost(cast, steady_round(crew(16, "small", start), 0, start), to_a_request=8)
    many, _ = cost(cast, steady_round(crew(96, "large", start), 0, start), to_a_request=8)
    assert many <= few + BY_THE_CLOCK


def test_a_restart_of_many_and_their_next_rounds_cost_no_more_than_of_few(cast: Cast, start: int) -> None:
    costs: list[tuple[int, ...]] = []
    for count, run in ((2, "small"), (64, "large")):
        before = crew(count, run, start)
        first, _ = cost(cast, steady_round(before, 0, start))
        again = crew(count, run, start + 20 * SECOND)
        restart, _ = cost(cast, steady_round(again, 0, start + 21 * SECOND))
        later, _ = cost(cast, steady_round(again, 1, start + 30 * SECOND))
        costs.append((first, restart, later))
        assert set(Worker.objects.filter(run__key=run).values_list("attempt", "state")) == {(1, "running")}
        assert Round.objects.filter(run__key=run, generation=1).count() == 1
    assert grown(costs) <= BY_THE_CLOCK


def test_a_long_outages_rounds_cost_no_more_than_a_short_ones(cast: Cast, start: int) -> None:
    costs: list[tuple[int, ...]] = []
    for count, run in ((2, "short"), (100, "long")):
        (recorder,) = crew(1, run, start)
        deliver(cast.team.id, recorder.batch())
        for index in range(count):
            recorder.begin_round(index, start + index * 1000).end_round(index, start + index * 1000 + 500)
        costs.append((cost(cast, [recorder.batch()])[0],))
        assert Round.objects.filter(run__key=run).count() == count
    assert grown(costs) <= BY_THE_CLOCK


def test_telling_closing_and_sweeping_cost_no_more_for_many_workers(cast: Cast, start: int) -> None:
    costs: list[tuple[int, ...]] = []
    for count, run in ((2, "small"), (64, "large")):
        _, bulletin = cost(cast, steady_round(crew(count, run, start), 0, start))
        (news,) = bulletin.runs.values()
        told = statements(lambda news=news: tell.tell_run(news))
        closed = statements(lambda news=news: rounds.close(news.run_id))
        swept = statements(lambda: states.sweep(timezone.now() + dt.timedelta(seconds=16)))
        assert Round.objects.get(run__key=run).closed
        assert set(Worker.objects.filter(run__key=run).values_list("state", flat=True)) == {"lost"}
        costs.append((told, closed, swept))
    assert grown(costs) <= BY_THE_CLOCK


def test_samples_of_many_machines_are_told_with_as_few_statements_as_of_two(cast: Cast, start: int) -> None:
    costs: list[tuple[int, ...]] = []
    for count, run in ((2, "small"), (32, "large")):
        members = [Recorder(f"w-{place}", run=run, began_ns=start, machine=f"{run}-{place}") for place in range(count)]
        deliver(cast.team.id, *[member.begin().batch() for member in members])
        hosts = [HostRecorder(machine=f"{run}-{place}", began_ns=start) for place in range(count)]
        stored, bulletin = cost(cast, [host.sample("memory", 1.0, start).batch() for host in hosts])

        def told(bulletin: Bulletin = bulletin, run: str = run) -> None:
            of_runs = tell.by_run(bulletin.hosts.values())
            assert list(of_runs) == [Run.objects.get(key=run).pk]
            for run_id, machines in of_runs.items():
                tell.tell_machines(run_id, machines)

        costs.append((stored, statements(told)))
    assert grown(costs) <= BY_THE_CLOCK


def test_of_too_many_workers_in_one_request_the_last_are_refused_alone(
    cast: Cast, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_WORKERS", 5)
    deliver(cast.team.id, *[each.batch() for each in crew(2, "run", start)])
    late = [Recorder(f"late-{place}", run="run", began_ns=start).begin() for place in range(4)]
    results = deliver(cast.team.id, *[each.batch() for each in late])
    status = {result.stream: result.status for result in results}
    assert [status[each.stream] for each in late] == ["stored", "stored", "stored", "refused"]
    assert sorted(Worker.objects.values_list("index", flat=True)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(3))
def test_attempts_that_come_together_are_numbered_as_if_they_had_come_one_by_one(
    cast: Cast, start: int, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - nothing secret
    for run in ("together", "alone"):
        dice.seed(seed)
        story = [
            Recorder(
                f"rank-{dice.randrange(4)}",
                run=run,
                began_ns=start + dice.randrange(8) * SECOND,
                machine=f"machine-{place}",
            ).begin()
            for place in range(20)
        ]
        first, others = story[:6], story[6:]
        deliver(cast.team.id, *[each.batch() for each in first])
        for each in [others] if run == "together" else [[each] for each in others]:
            deliver(cast.team.id, *[recorder.batch() for recorder in each])
    seen = [
        (
            list(
                Stream.objects.filter(run__key=run).order_by("index").values_list("machine", "worker__name", "attempt")
            ),
            list(Worker.objects.filter(run__key=run).order_by("index").values_list("name", "attempt", "machine")),
        )
        for run in ("together", "alone")
    ]
    assert seen[0] == seen[1]


@pytest.mark.django_db(transaction=True)
def test_processes_that_make_the_same_workers_at_once_agree(
    cast: Cast, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Threads that remember nothing know of each other what processes do: what is in the database.
    for room, name in ((streams, "_known"), (crews, "_known"), (catalogue, "_names"), (catalogue, "_series")):
        monkeypatch.setattr(room, name, Known(0))
    members = crew(24, "run", start)
    members[0].phase("encode", start, start + SECOND, round=0, worker="site-a")
    batches = steady_round(members, 0, start) + [
        HostRecorder(machine=f"machine-{place}", began_ns=start).sample("memory", 1.0, start).batch()
        for place in range(3)
    ]
    failures: list[BaseException] = []
    gate = threading.Barrier(4)

    def send(seed: int) -> None:
        order = random.Random(seed).sample(batches, len(batches))  # noqa: S311 - nothing secret
        try:
            gate.wait()
            # Without the second try that `write` would give them, should the locks let two make the same.
            telemetry._write([make_job(cast.team.id, *order[:13]), make_job(cast.team.id, *order[13:])])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(Worker.objects.values_list("index", flat=True)) == list(range(25))
    assert sorted(Stream.objects.exclude(run=None).values_list("index", flat=True)) == list(range(24))
    assert set(Stream.objects.values_list("attempt", flat=True)) == {0}
    assert Series.objects.count() == 24 * METRICS + 3
    assert Round.objects.count() == 1
    assert Stream.objects.filter(run=None).count() == 3


def test_a_key_that_another_process_has_just_made_is_not_made_again(cast: Cast, start: int) -> None:
    (member,) = crew(1, "run", start)
    arrivals = make_job(cast.team.id, member.batch()).arrivals
    key = (cast.team.id, "digits", "run")
    assert [attempts.make({key: arrivals}) for _ in range(2)] == [set(), set()]
    assert (Run.objects.count(), Worker.objects.count(), Stream.objects.count()) == (1, 1, 1)
