"""Hostile and broken records: each is set aside with a reason, its neighbours are stored, nothing else happens."""

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.api.columns import Verdicts
from ingest.api.decode import job
from ingest.models import Event, Phase, PhaseName, Quarantine, Run, Sample, Series, Stream, Worker
from ingest.store import catalogue, telemetry
from ingest.store.arrivals import Fault
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.batches import SECOND, Recorder, request
from tests.ingest.delivery import deliver

NOW = time.time_ns()
Batch = dict[str, Any]


def body_of(*batches: wire.Batch, change: Callable[[Batch], None] | None = None) -> bytes:
    """A request's text, its first batch changed by hand."""
    raw = asdict(request(*batches))
    if change:
        change(raw["batches"][0])
    return json.dumps(raw).encode()


def three_phases() -> Recorder:
    """A trainer with three phases in a row; the middle one, number 3, is the victim."""
    recorder = Recorder(began_ns=NOW)
    for place in range(3):
        begin = NOW - (10 - place) * SECOND
        recorder.phase(f"phase-{place}", begin, begin + SECOND, round=place, text=f"attribute-{place}")
    return recorder


def put(part: str, column: str, value: Any) -> Callable[[Batch], None]:
    """Change one column of the middle record, keeping those after it as they are."""

    def change(batch: Batch) -> None:
        values = batch[part][column]
        if column in {"number", "start", "begin_ns", "time_ns"}:
            whole = wire.undelta(values)
            whole[1] = value
            batch[part][column] = wire.delta(whole)
        else:
            values[1] = value

    return change


def table(part: str, value: Any) -> Callable[[Batch], None]:
    """Change what the middle record refers to."""

    def change(batch: Batch) -> None:
        batch[part][1] = value

    return change


VICTIMS = {
    "a start after its end": put("phases", "start", 5),
    "a negative start": put("phases", "start", -1),
    "seconds for nanoseconds": put("phases", "begin_ns", NOW // SECOND),
    "a time far ahead": put("phases", "begin_ns", NOW + 3600 * SECOND),
    "an end far ahead": put("phases", "duration_ns", 3600 * SECOND),
    "a time of 2^63": put("phases", "begin_ns", 1 << 63),
    "a time of -2^63": put("phases", "begin_ns", -(1 << 63)),
    "a time of 10^400": put("phases", "begin_ns", 10**400),
    "a negative duration": put("phases", "duration_ns", -1),
    "a duration of 2^64": put("phases", "duration_ns", 1 << 64),
    "an unknown kind": put("phases", "kind", 9),
    "a kind of 10^400": put("phases", "kind", 10**400),
    "an unknown state": put("phases", "state", 3),
    "a round below -1": put("phases", "round", -2),
    "a round of 2^31": put("phases", "round", 1 << 31),
    "a thread of 2^16": put("phases", "thread", 1 << 16),
    "a parent below -1": put("phases", "parent", -2),
    "a parent of 2^63": put("phases", "parent", 1 << 63),
    "an unknown clock": put("phases", "clock", 2),
    "a name that is not there": put("phases", "name", 3),
    "no name": put("phases", "name", -1),
    "a name index of -5": put("phases", "name", -5),
    "a worker that is not there": put("phases", "worker", 77),
    "attributes that are not there": put("phases", "attrs", 3),
    "a name with a NUL": table("names", "na\0me"),
    "a name that is a lone surrogate": table("names", "\ud800"),
    "an empty name": table("names", ""),
    "a name of a million characters": table("names", "x" * 1_000_000),
    "attributes with a NUL": table("attrs", {"text": "a\0b"}),
    "attributes with a NUL in a key": table("attrs", {"a\0b": 1}),
    "attributes with a nested NUL": table("attrs", {"a": [{"b": "\0"}]}),
    "attributes with a lone surrogate": table("attrs", {"text": "\udfff"}),
    "attributes of 20 KB": table("attrs", {"text": "x" * 20_000}),
}


@pytest.mark.django_db
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_bad_phase_is_set_aside_and_its_neighbours_are_stored(cast: Cast, victim: str) -> None:
    recorder = three_phases()
    body = body_of(recorder.batch(), change=VICTIMS[victim])
    outcome = telemetry.write([job(cast.team.id, body, "", time.time_ns())]).outcomes[0]
    assert [(result.status, result.rejected, result.missing) for result in outcome.results] == [("stored", 1, [])]
    stream = Stream.objects.get()
    assert list(Phase.objects.filter(stream_id=stream.pk).order_by("number").values_list("number", flat=True)) == [1, 5]
    refused = Quarantine.objects.get()
    assert (refused.number, bool(refused.reason), refused.record["sort"]) == (3, True, "phase")
    assert (stream.stored_count, stream.rejected_count) == (5, 1)
    # Repeating it changes nothing, and says the same.
    again = telemetry.write([job(cast.team.id, body, "", time.time_ns())]).outcomes[0]
    assert again.results == outcome.results
    assert Quarantine.objects.count() == 1
    assert Stream.objects.get().rejected_count == 1


HARMLESS = {
    "markup": "<script>alert(1)</script>",
    "right to left": "\u202etxet",
    "an escaped NUL that is none": "\\u0000",
    "a quote": "'; DROP TABLE ingest_run; --",
    "emoji beyond the basic plane": "\U0001f600",
    "128 characters": "x" * 128,
}


@pytest.mark.django_db
@pytest.mark.parametrize("text", HARMLESS)
def test_names_are_text_whatever_they_look_like(cast: Cast, text: str) -> None:
    name = HARMLESS[text]
    recorder = Recorder(name, project=name, run=name, machine=name, began_ns=NOW)
    recorder.phase(name, NOW - 2 * SECOND, NOW - SECOND, note=name)
    assert deliver(cast.team.id, recorder.batch())[0].rejected == 0
    assert (Run.objects.get().project, Worker.objects.get().name) == (name, name)
    assert (PhaseName.objects.get().name, Phase.objects.get(run_id=Run.objects.get().id).attrs) == (
        name,
        {"note": name},
    )


@pytest.mark.django_db
def test_values_that_json_has_no_number_for_are_readings_and_other_texts_are_not(cast: Cast) -> None:
    recorder = Recorder(began_ns=NOW)
    for value in ("nan", "inf", "-inf", "Infinity", "", "1e5", 2.5, 3):
        recorder.sample("loss", value, NOW - SECOND, source="training")
    assert deliver(cast.team.id, recorder.batch())[0].rejected == 3
    values = Sample.objects.filter(stream_id=Stream.objects.get().pk).order_by("number")
    assert [str(value) for value in values.values_list("value", flat=True)] == ["nan", "inf", "-inf", "2.5", "3.0"]


@pytest.mark.django_db
def test_json_that_python_would_write_for_nan_is_read(cast: Cast) -> None:
    recorder = Recorder(began_ns=NOW).sample("loss", 1.0, NOW - SECOND).sample("loss", 2.0, NOW - SECOND)

    def spoil(batch: Batch) -> None:
        batch["samples"]["value"][0] = float("nan")

    body = body_of(recorder.batch(), change=spoil)
    assert b"NaN" in body
    assert telemetry.write([job(cast.team.id, body, "", NOW)]).outcomes[0].results[0].rejected == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("literal", "kept"), [(b"NaN", "nan"), (b"Infinity", "inf"), (b"-Infinity", "-inf"), (b"1e400", "inf")]
)
def test_numbers_that_json_has_no_form_for_are_kept_as_texts(cast: Cast, literal: bytes, kept: str) -> None:
    odd = {"lr": "LITERAL", "deep": [{"eps": "LITERAL"}], "fine": 0.5}
    recorder = Recorder(began_ns=NOW).begin(config=odd, conditions=odd)
    recorder.phase("train", NOW - 2 * SECOND, NOW - SECOND, **odd).event("saved", NOW - SECOND, **odd)
    body = body_of(recorder.batch()).replace(b'"LITERAL"', literal)
    result = telemetry.write([job(cast.team.id, body, "", NOW)]).outcomes[0].results[0]
    assert (result.status, result.rejected) == ("stored", 0)
    stored = {"lr": kept, "deep": [{"eps": kept}], "fine": 0.5}
    run = Run.objects.get()
    assert [run.config, run.conditions] == [stored] * 2
    assert [Phase.objects.get(run_id=run.id).attrs, Event.objects.get(run_id=run.id).attrs] == [stored] * 2


@pytest.mark.django_db
def test_a_number_of_that_kind_in_what_is_refused_does_not_refuse_the_rest(cast: Cast) -> None:
    recorder = Recorder(began_ns=NOW).begin(flops_per_item="LITERAL", tags=["LITERAL"]).begin(name="fine")
    body = body_of(recorder.batch()).replace(b'"LITERAL"', b"NaN")
    assert telemetry.write([job(cast.team.id, body, "", NOW)]).outcomes[0].results[0].rejected == 1
    assert Run.objects.get().name == "fine"
    assert Quarantine.objects.get().record["data"]["flops_per_item"] == "nan"


@pytest.mark.django_db
@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_reading_beyond_any_float_is_set_aside_alone(cast: Cast, value: int) -> None:
    recorder = Recorder(began_ns=NOW)
    for reading in (1.0, value, 10**30, 2.0):
        recorder.sample("loss", reading, NOW - SECOND)
    body = body_of(recorder.batch())
    assert telemetry.write([job(cast.team.id, body, "", NOW)]).outcomes[0].results[0].rejected == 1
    assert list(Sample.objects.order_by("number").values_list("value", flat=True)) == [1.0, 1e30, 2.0]
    assert Quarantine.objects.get().number == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("metric", "unit", "source"),
    [("", "", "host"), ("a\0", "", "host"), ("x" * 129, "", "host"), ("m", "u" * 33, "host"), ("m", "", "moon")],
)
def test_samples_of_a_bad_metric_are_set_aside(cast: Cast, metric: str, unit: str, source: str) -> None:
    recorder = Recorder(began_ns=NOW)
    recorder.sample("good", 1, NOW - SECOND).sample(metric, 1, NOW - SECOND, unit=unit, source=source)
    assert deliver(cast.team.id, recorder.batch())[0].rejected == 1
    assert Series.objects.get().metric == "good"


@pytest.mark.django_db
def test_bad_turns_of_life_are_set_aside(cast: Cast) -> None:
    recorder = Recorder(began_ns=NOW)
    recorder.begin(rounds=-1).begin(config=["no"]).begin(name="a\0").begin(tags="no").begin(model_bytes=True)
    recorder.finish(NOW, "exploded").begin(name="fine", unknown="passed over")
    assert deliver(cast.team.id, recorder.batch())[0].rejected == 6
    assert (Run.objects.get().name, Run.objects.get().state) == ("fine", "running")
    assert all(row.record["sort"] == "lifecycle" for row in Quarantine.objects.all())


@pytest.mark.django_db
def test_a_number_that_comes_twice_is_stored_once(cast: Cast) -> None:
    recorder = Recorder(began_ns=NOW).event("a", NOW - SECOND).event("b", NOW - SECOND)

    def repeat(batch: Batch) -> None:
        for column, value in {"number": 0, "time_ns": 0, "name": 0, "round": -1, "thread": 0, "attrs": -1}.items():
            batch["events"][column].append(value)

    body = body_of(recorder.batch(), change=repeat)
    result = telemetry.write([job(cast.team.id, body, "", NOW)]).outcomes[0].results[0]
    assert (result.rejected, result.missing) == (1, [])
    assert Event.objects.filter(run_id=Run.objects.get().id).count() == 2
    assert "twice" in Quarantine.objects.get().reason


@pytest.mark.django_db
def test_the_513th_phase_name_and_what_bears_it_are_set_aside(cast: Cast) -> None:
    recorder = Recorder(began_ns=NOW)
    for place in range(wire.MAX_PHASE_NAMES + 2):
        recorder.phase(f"name-{place}", NOW - 2 * SECOND, NOW - SECOND)
    recorder.phase("name-0", NOW - 2 * SECOND, NOW - SECOND)
    assert deliver(cast.team.id, recorder.batch())[0].rejected == 2
    assert PhaseName.objects.count() == wire.MAX_PHASE_NAMES
    assert Phase.objects.filter(run_id=Run.objects.get().id).count() == wire.MAX_PHASE_NAMES + 1


@pytest.mark.django_db
def test_a_run_has_room_for_so_many_workers_and_no_more(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_WORKERS", 2)
    speaker = Recorder("a", began_ns=NOW)
    for name in ("b", "c"):
        speaker.phase("encode", NOW - 2 * SECOND, NOW - SECOND, worker=name)
    assert deliver(cast.team.id, speaker.batch())[0].rejected == 1
    refused, stored = deliver(
        cast.team.id, (late := Recorder("d", began_ns=NOW).begin().batch()), Recorder("a", began_ns=NOW).begin().batch()
    )
    assert (refused.stream, refused.status) == (late.stream, "refused")
    assert refused.reason == "A run may have 2 workers."
    assert stored.status == "stored"
    assert Worker.objects.count() == 2


@pytest.mark.django_db
def test_a_metric_named_by_a_counter_does_not_fill_the_disk(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MAX_SERIES", 3)
    recorder = Recorder(began_ns=NOW)
    for place in range(5):
        recorder.sample(f"loss-{place}", 1, NOW - SECOND)
    assert deliver(cast.team.id, recorder.batch())[0].rejected == 2
    assert Series.objects.count() == 3


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["project", "run", "worker"])
@pytest.mark.parametrize("text", ["", "a\0", "x" * 129, "\ud800"])
def test_an_identity_that_cannot_be_kept_refuses_its_batch_alone(cast: Cast, field: str, text: str) -> None:
    refused, stored = deliver_changed(cast, field, text)
    assert refused.status == "refused"
    assert refused.reason.startswith(f"identity.{field}: a name ")
    assert (stored.status, stored.reason) == ("stored", "")
    assert Worker.objects.get().name == "neighbour"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value"), [("rank", 1 << 40), ("world_size", -(1 << 40)), ("site", "x" * 200), ("kind", "moon")]
)
def test_an_identity_out_of_range_refuses_its_batch_alone(cast: Cast, field: str, value: object) -> None:
    refused, stored = deliver_changed(cast, field, value)
    assert (refused.status, stored.status) == ("refused", "stored")
    assert field in refused.reason
    assert Worker.objects.get().name == "neighbour"


def deliver_changed(cast: Cast, field: str, value: object) -> list[wire.Result]:
    """The results of a batch with a changed identity and of a good one beside it."""

    def change(batch: Batch) -> None:
        batch["identity"][field] = value

    sound = Recorder("neighbour", began_ns=NOW).begin().batch()
    body = body_of(three_phases().batch(), sound, change=change)
    return telemetry.write([job(cast.team.id, body, "", NOW)]).outcomes[0].results


@pytest.mark.parametrize(("part", "entry"), [("names", ""), ("attrs", {"a": "\0"}), ("metrics", {"name": ""})])
def test_a_table_that_no_record_needs_is_not_examined(part: str, entry: object) -> None:
    def change(batch: Batch) -> None:
        batch[part] += [entry] * 50

    with pytest.raises(Fault) as refused:
        job(uuid4(), body_of(three_phases().batch(), change=change), "", NOW)
    assert (refused.value.status, refused.value.field) == (422, f"batches[0].{part}")


def test_more_batches_than_a_run_has_workers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_WORKERS", 2)
    beats = [Recorder(f"w-{place}", began_ns=NOW).batch() for place in range(3)]
    with pytest.raises(Fault) as refused:
        job(uuid4(), body_of(*beats), "", NOW)
    assert (refused.value.status, refused.value.code) == (413, "too_many")


def test_each_record_is_refused_for_the_first_reason_that_applied_to_it() -> None:
    verdicts = Verdicts(6)
    verdicts.refuse(np.array([True, False, False, False, False, False]), "before")
    kept = verdicts.refuse_by(np.array([1, 1, 0, -1, 7, 2]), [None, "one", "two"], "absent")
    assert verdicts.reasons == {0: "before", 1: "one", 4: "absent", 5: "two"}
    assert verdicts.bad.tolist() == [True, True, False, False, True, True]
    assert kept.tolist() == [1, 1, 0, -1, -1, 2]


def columns(part: str) -> list[str]:
    """The names of a part's columns."""
    return list(asdict(request(three_phases().batch()))["batches"][0][part])


odd_values = st.one_of(
    st.integers(),
    st.sampled_from([-1, 0, 1 << 31, 1 << 62, (1 << 63) - 1, 1 << 63, -(1 << 63), 1 << 64, 10**400, NOW]),
    st.floats(),
    st.text(max_size=4),
    st.none(),
    st.booleans(),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(part=st.sampled_from(["phases", "rounds", "events", "samples"]), data=st.data())
def test_whatever_a_column_holds_is_stored_set_aside_or_refused(part: str, data: st.DataObject) -> None:
    recorder = three_phases().begin_round(0, NOW).end_round(0, NOW).event("e", NOW).event("f", NOW)
    recorder.sample("m", 1.0, NOW).sample("m", 2.0, NOW)
    raw = asdict(request(recorder.batch()))
    column = data.draw(st.sampled_from(columns(part)))
    values = raw["batches"][0][part][column]
    values[data.draw(st.integers(0, len(values) - 1))] = data.draw(odd_values)
    body = gzip.compress(json.dumps(raw).encode())
    try:
        (arrival,) = job(uuid4(), body, "gzip", NOW).arrivals
    except Fault as fault:
        refused = fault.status
    else:
        refused = 0
        kept = sum(map(len, (arrival.phases, arrival.rounds, arrival.events, arrival.samples)))
        assert kept + len(arrival.rejects) == 3 + 2 + 2 + 2
    assert refused in {0, 422}
