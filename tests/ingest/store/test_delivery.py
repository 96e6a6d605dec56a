"""What is answered as stored is in the database, once, whatever is repeated, reordered or left out."""

import copy
import datetime as dt
import threading
import time
import uuid

import pytest
from django.db import connection
from django.utils import timezone

from ingest.models import Event, Gap, Phase, PhaseName, Quarantine, Run, Sample, Series, Stream, Worker
from ingest.store import telemetry
from tests.cast import Cast
from tests.ingest.batches import SECOND, HostRecorder, Recorder, steady_round
from tests.ingest.delivery import deliver, make_job

pytestmark = pytest.mark.django_db


def start_ns() -> int:
    """A minute ago."""
    return time.time_ns() - 60 * SECOND


def numbers_of(stream: str) -> str:
    """The stream's set of numbers, as Postgres prints it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT numbers::text FROM ingest_stream WHERE uid = %s", [uuid.UUID(stream)])
        return str(cursor.fetchone()[0])


def phases_of(stream: str) -> list[tuple[int, int]]:
    """(start number, number) of the stream's stored phases."""
    row = Stream.objects.get(uid=uuid.UUID(stream))
    rows = Phase.objects.filter(stream_id=row.pk).order_by("number")
    return list(rows.values_list("start_number", "number"))


def recorded(count: int) -> Recorder:
    """A trainer that has recorded `count` phases, two numbers each."""
    recorder, begin = Recorder(began_ns=start_ns()), start_ns()
    for place in range(count):
        recorder.phase("train", begin + place * 1000, begin + place * 1000 + 500, round=0, step=place)
    return recorder


def test_a_round_becomes_rows_with_everything_that_was_said(cast: Cast) -> None:
    start = start_ns()
    recorder = Recorder("trainer-3", began_ns=start, rank=3, machine="m-7")
    recorder.begin(name="digits on four", config={"lr": 0.1}, rounds=5, model_bytes=1 << 20, tags=["demo"])
    recorder.begin_round(0, start).phase("encode", start, start + SECOND, round=0, nbytes=7)
    recorder.event("saved", start + SECOND, round=0, path="checkpoints/x")
    recorder.sample("cpu", 0.5, start + SECOND, unit="ratio", device="cpu0")
    recorder.end_round(0, start + 2 * SECOND)
    (result,) = deliver(cast.team.id, recorder.batch(offset_ns=5_000, error_ns=77))

    assert (result.status, result.missing, result.rejected) == ("stored", [], 0)
    run = Run.objects.get(team=cast.team)
    assert (run.name, run.key, run.project, run.config, run.tags) == (
        "digits on four", "run-1", "digits", {"lr": 0.1}, ["demo"],
    )  # fmt: skip
    assert (run.rounds_planned, run.model_bytes, run.state) == (5, 1 << 20, "running")
    worker = Worker.objects.get(run=run)
    assert (worker.name, worker.rank, worker.machine, worker.clock_error_ns) == ("trainer-3", 3, "m-7", 77)
    phase = Phase.objects.get(run_id=run.id)
    assert (phase.begin_ns, phase.end_ns) == (start + 5_000, start + SECOND + 5_000)
    assert (phase.offset_ns, phase.error_ns, phase.attrs, phase.round) == (5_000, 77, {"nbytes": 7}, 0)
    assert PhaseName.objects.get(run=run, index=phase.name_index).name == "encode"
    assert Event.objects.get(run_id=run.id).attrs == {"path": "checkpoints/x"}
    series = Series.objects.get(worker=worker)
    assert (series.metric, series.unit, series.device) == ("cpu", "ratio", "cpu0")
    assert Sample.objects.get(series_id=series.pk).value == 0.5


def test_a_replayed_batch_changes_nothing(cast: Cast) -> None:
    recorder = recorded(10)
    batch = recorder.batch()
    deliver(cast.team.id, batch)
    before = Stream.objects.values().get(), phases_of(recorder.stream)
    for _ in range(3):
        assert deliver(cast.team.id, batch)[0].missing == []
    after = Stream.objects.values().get(), phases_of(recorder.stream)
    ignored = {"heard_at"}
    assert {k: v for k, v in after[0].items() if k not in ignored} == {
        k: v for k, v in before[0].items() if k not in ignored
    }
    assert after[1] == before[1]


def test_a_hole_is_named_until_it_is_filled_by_an_overlapping_batch(cast: Cast) -> None:
    recorder = Recorder(began_ns=start_ns())
    begin = start_ns()
    for place in range(6):
        recorder.phase("train", begin + place, begin + place + 1)
    whole = recorder.batch()
    parts = []
    for first in (0, 4, 8):
        part = Recorder(began_ns=recorder.began_ns, stream=recorder.stream, next_number=first)
        part._draft.first = first
        for place in range(first // 2, first // 2 + 2):
            part.phase("train", begin + place, begin + place + 1)
        parts.append(part.batch())
    assert deliver(cast.team.id, parts[2])[0].missing == [[0, 7]]
    assert deliver(cast.team.id, parts[0])[0].missing == [[4, 7]]
    assert numbers_of(recorder.stream) == "{[0,4),[8,12)}"
    assert deliver(cast.team.id, whole)[0].missing == []
    assert numbers_of(recorder.stream) == "{[0,12)}"
    assert phases_of(recorder.stream) == [(2 * place, 2 * place + 1) for place in range(6)]


def test_a_heartbeat_alone_makes_the_run_and_keeps_its_open_phases(cast: Cast) -> None:
    recorder = Recorder(began_ns=start_ns())
    recorder.open("encode", start_ns(), round=4, progress=0.25)
    deliver(cast.team.id, recorder.batch())
    deliver(cast.team.id, recorder.heartbeat(time.time_ns()))
    stream = Stream.objects.get()
    assert [(phase["name"], phase["round"], phase["progress"]) for phase in stream.opens] == [("encode", 4, 0.25)]
    assert stream.opens_number == 0


def test_open_phases_come_from_the_highest_batch_not_from_the_latest_to_arrive(cast: Cast) -> None:
    recorder = Recorder(began_ns=start_ns())
    start = recorder.open("encode", start_ns())
    early = recorder.batch()
    recorder.close(start, start_ns() + SECOND)
    late = recorder.batch()
    deliver(cast.team.id, late)
    deliver(cast.team.id, early)
    assert Stream.objects.get().opens == []


def test_declared_drops_become_gaps_and_are_no_holes(cast: Cast) -> None:
    recorder = recorded(1)
    recorder.drop(8, 20, from_ns=start_ns(), to_ns=start_ns() + SECOND)
    begin = start_ns()
    recorder.phase("train", begin, begin + 1)
    (result,) = deliver(cast.team.id, recorder.batch())
    stream = Stream.objects.get()
    assert result.missing == []
    gap = Gap.objects.get()
    assert (gap.number, gap.span, gap.count, gap.reason) == (2, 8, 20, "ring full")
    assert (stream.stored_count, stream.dropped_count) == (4, 20)


@pytest.mark.django_db(transaction=True)
def test_overlapping_batches_from_many_threads_store_each_record_once(cast: Cast) -> None:
    recorders = [recorded(40) for _ in range(3)]
    for place, recorder in enumerate(recorders):
        recorder.worker = f"trainer-{place}"
    wholes = [recorder.batch() for recorder in recorders]
    failures: list[BaseException] = []
    barrier = threading.Barrier(4)

    def send(order: list[int]) -> None:
        try:
            barrier.wait()
            for _ in range(3):
                jobs = [make_job(cast.team.id, *(wholes[place] for place in order)) for _ in range(2)]
                telemetry.write(jobs)
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)
        finally:
            connection.close()

    orders = ([0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1])
    threads = [threading.Thread(target=send, args=(list(order),)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert Run.objects.count() == 1
    assert sorted(Worker.objects.values_list("index", flat=True)) == [0, 1, 2]
    assert sorted(Stream.objects.values_list("index", flat=True)) == [0, 1, 2]
    for recorder in recorders:
        assert phases_of(recorder.stream) == [(2 * place, 2 * place + 1) for place in range(40)]


def test_another_teams_stream_of_the_same_name_is_another_stream(cast: Cast) -> None:
    recorder = recorded(2)
    batch = recorder.batch()
    deliver(cast.team.id, batch)
    assert deliver(cast.other_team.id, batch)[0].status == "stored"
    assert {run.team_id for run in Run.objects.all()} == {cast.team.id, cast.other_team.id}
    for run in Run.objects.all():
        assert Phase.objects.filter(run_id=run.id).count() == 2


def test_the_records_of_a_deleted_run_are_refused_and_its_streams_are_told(cast: Cast) -> None:
    recorder = recorded(1)
    deliver(cast.team.id, recorder.batch())
    run = Run.objects.get()
    Stream.objects.filter(run=run).update(deleted=True, run=None, worker=None)
    run.delete()
    begin = start_ns()
    recorder.phase("train", begin, begin + 1)
    neighbour = Recorder("other", run="run-2", began_ns=start_ns())
    neighbour.phase("train", begin, begin + 1)
    results = deliver(cast.team.id, recorder.batch(), neighbour.batch())
    assert [result.status for result in results] == ["deleted", "stored"]
    assert Run.objects.get().key == "run-2"


def test_samples_of_a_machine_belong_to_no_run(cast: Cast) -> None:
    host = HostRecorder(machine="m-1", began_ns=start_ns())
    host.sample("memory", 1.5, start_ns(), unit="B").sample("memory", 2.5, start_ns(), unit="B")
    assert deliver(cast.team.id, host.batch())[0].rejected == 0
    stream = Stream.objects.get()
    assert (stream.run, stream.worker, stream.machine) == (None, None, "m-1")
    assert list(Sample.objects.filter(stream_id=stream.pk).values_list("value", flat=True)) == [1.5, 2.5]
    assert Run.objects.count() == 0


def test_a_shippers_own_stream_holds_samples_only(cast: Cast) -> None:
    host = HostRecorder(machine="m-1", began_ns=start_ns())
    host.phase("train", start_ns(), start_ns() + 1).sample("memory", 1, start_ns())
    assert deliver(cast.team.id, host.batch())[0].rejected == 1
    assert Sample.objects.filter(stream_id=Stream.objects.get().pk).count() == 1
    assert "samples only" in Quarantine.objects.get().reason


def test_a_phase_recorded_for_another_worker_makes_that_worker(cast: Cast) -> None:
    recorder = Recorder("coordinator", role="coordinator", began_ns=start_ns())
    begin = start_ns()
    recorder.phase("encode", begin, begin + SECOND, round=0, worker="site-a", clock=1)
    deliver(cast.team.id, recorder.batch(offset_ns=10**9))
    site = Worker.objects.get(name="site-a")
    phase = Phase.objects.get(worker_id=site.pk)
    assert (phase.begin_ns, phase.offset_ns, phase.error_ns) == (begin, 0, None)
    assert site.spoken_by == Stream.objects.get()


def test_a_database_emptied_behind_our_back_is_filled_again(cast: Cast) -> None:
    recorder = recorded(2)
    batch = recorder.batch()
    deliver(cast.team.id, batch)
    Run.objects.all().delete()
    deliver(cast.team.id, batch)
    assert phases_of(recorder.stream) == [(0, 1), (2, 3)]


def test_rounds_of_many_workers_in_one_request_share_the_run(cast: Cast) -> None:
    workers = [Recorder(f"trainer-{place}", began_ns=start_ns()) for place in range(4)]
    deliver(cast.team.id, *steady_round(workers, 0, start_ns()))
    assert Worker.objects.count() == 4
    assert Phase.objects.filter(run_id=Run.objects.get().id).count() == 16


@pytest.mark.parametrize("silent_hours", [23, 25])
def test_a_key_found_by_itself_starts_a_new_run_after_a_day_of_silence(cast: Cast, silent_hours: int) -> None:
    from datetime import timedelta

    first = Recorder(run_found=True, began_ns=start_ns())
    deliver(cast.team.id, first.begin().batch())
    run = Run.objects.get()
    for field in ("heard_at", "started_at"):
        setattr(run, field, getattr(run, field) - timedelta(hours=silent_hours))
    run.save()
    second = Recorder(run_found=True, began_ns=start_ns())
    deliver(cast.team.id, second.begin().batch())
    assert Run.objects.count() == (2 if silent_hours > 24 else 1)
    assert max(Run.objects.values_list("serial", flat=True)) == (1 if silent_hours > 24 else 0)


def test_a_key_that_was_given_keeps_its_run_for_ever(cast: Cast) -> None:
    from datetime import timedelta

    deliver(cast.team.id, Recorder(began_ns=start_ns()).begin().batch())
    Run.objects.update(heard_at=Run.objects.get().heard_at - timedelta(days=9))
    deliver(cast.team.id, Recorder(began_ns=start_ns()).begin().batch())
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_days_partition_that_is_missing_is_made_on_the_way(cast: Cast) -> None:
    recorder = Recorder(began_ns=start_ns())
    deliver(cast.team.id, recorder.begin().batch())
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE ingest_event_{timezone.now().astimezone(dt.UTC):%Y%m%d}")
    deliver(cast.team.id, recorder.event("saved", start_ns()).batch())
    assert Event.objects.filter(run_id=Run.objects.get().id).count() == 1


def test_a_stream_of_nothing_but_holes_is_refused_in_the_end(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_MOST_RANGES", 3)
    begin, refused = start_ns(), 0
    template = Recorder(began_ns=begin)
    for first in range(0, 20, 2):
        part = Recorder(began_ns=begin, stream=template.stream, next_number=first)
        part._draft.first = first
        outcome = telemetry.write([make_job(cast.team.id, part.event("e", begin).batch())]).outcomes[0]
        refused += outcome.results[0].status == "refused"
    assert refused == 6


def test_an_aborted_end_made_up_after_a_loss_of_power_does_not_double_a_phase_whose_end_had_been_sent(
    cast: Cast,
) -> None:
    begin = start_ns()
    recorder = Recorder(began_ns=begin)
    known, lost = recorder.open("encode", begin, round=0), recorder.open("upload", begin, round=0)
    deliver(cast.team.id, recorder.batch())
    before_the_loss = copy.deepcopy(recorder)
    before_the_loss.close(known, begin + SECOND)
    deliver(cast.team.id, before_the_loss.batch())

    recorder.drop(1 << 20, 0).close(known, begin + 2 * SECOND, state="aborted")
    recorder.close(lost, begin + 2 * SECOND, state="aborted").gone(begin + 2 * SECOND)
    batch = recorder.batch()
    (result,) = deliver(cast.team.id, batch)
    deliver(cast.team.id, batch)

    assert (result.status, result.missing, result.rejected) == ("stored", [], 1)
    stream = Stream.objects.get(uid=uuid.UUID(recorder.stream))
    ends = Phase.objects.filter(stream_id=stream.pk).order_by("start_number").values_list("start_number", "state")
    assert list(ends) == [(known, 0), (lost, 2)]
    assert Quarantine.objects.filter(stream=stream).count() == 1
