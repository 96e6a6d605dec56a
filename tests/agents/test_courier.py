"""What the courier does about each answer of the server: nothing is lost, and one bad record stops no other."""

import json
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from roundwatch import preparing, slots, spool
from roundwatch.courier import retry_after
from roundwatch.spool import Spool
from tests.agents.collector import Answer, Collector, Heard
from tests.agents.shelf import STREAM, Shelf


@pytest.fixture
def shelf(tmp_path: Path, collector: Collector) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path, collector.url)
    yield shelf
    shelf.close()


def records(request: dict[str, Any]) -> int:
    return sum(batch["count"] for batch in request["batches"])


def heard(collector: Collector) -> Heard:
    return collector.streams[STREAM]


def answer_once(collector: Collector, *answers: Answer) -> None:
    left = list(answers)
    collector.answers = lambda request: left.pop(0) if left and request["batches"] else None


def step(shelf: Shelf) -> float:
    assert shelf.courier is not None
    return shelf.courier.step()


def test_many_records_travel_in_few_requests_newest_first(shelf: Shelf, collector: Collector) -> None:
    shelf.events(preparing.MAX_RECORDS * 2 + 10)
    shelf.send()
    assert records(collector.requests[0]) == 0
    assert len(collector.requests) <= 6
    firsts = [request["batches"][0]["first"] for request in collector.requests[1:]]
    assert firsts == sorted(firsts, reverse=True)
    assert heard(collector).whole()
    assert not heard(collector).of("drop")


def test_large_texts_are_spread_over_requests(shelf: Shelf, collector: Collector) -> None:
    shelf.events(400, json.dumps({"text": "x" * 15_000}).encode())
    shelf.send()
    assert heard(collector).whole()
    assert not heard(collector).of("drop")
    assert all(records(request) * 15_000 < 4 << 20 for request in collector.requests)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_refusal_that_will_pass_is_tried_again(shelf: Shelf, collector: Collector, status: int) -> None:
    answer_once(collector, (status, {}), (status, {}))
    shelf.events(3)
    shelf.send()
    assert heard(collector).whole()
    assert not heard(collector).conflicts


def test_retry_after_is_waited_for_and_its_forms_are_understood(shelf: Shelf, collector: Collector) -> None:
    answer_once(collector, (503, {"Retry-After": "7"}))
    shelf.events(1)
    step(shelf)
    assert 5 <= step(shelf) <= 9
    assert 15 < retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=20))) <= 20
    assert retry_after("soon") == 1.0
    assert retry_after("-3") < 1
    assert retry_after("99999999") == 300


def test_a_refused_token_is_tried_again_slowly_and_costs_nothing(shelf: Shelf, collector: Collector) -> None:
    shelf.events(5)
    step(shelf)
    answer_once(collector, (401, {}))
    assert step(shelf) > 20
    assert shelf.spool.waiting() == 5
    shelf.send()
    assert heard(collector).whole()


def test_a_request_that_is_too_large_is_halved_until_it_fits(shelf: Shelf, collector: Collector) -> None:
    collector.answers = lambda request: (413, {}) if records(request) > 30 else None
    shelf.events(500)
    shelf.send()
    assert heard(collector).whole()
    assert not heard(collector).of("drop")


@pytest.mark.parametrize("status", [413, 422])
def test_one_record_that_the_server_cannot_read_is_set_aside_alone(
    shelf: Shelf, collector: Collector, tmp_path: Path, status: int
) -> None:
    def answers(request: dict[str, Any]) -> Answer | None:
        bad = any("poison" in attrs for batch in request["batches"] for attrs in batch["attrs"])
        return (status, {}) if bad else None

    collector.answers = answers
    shelf.events(100)
    shelf.events(1, b'{"poison": 1}')
    shelf.events(100)
    shelf.send()
    assert heard(collector).whole()
    assert len(heard(collector).of("event")) == 200
    (drop,) = heard(collector).of("drop")
    assert (drop["number"], drop["what"], drop["count"], drop["reason"]) == (100, "event", 1, "refused")
    (line,) = (tmp_path / "refused" / f"{STREAM}.jsonl").read_text().splitlines()
    assert "poison" in line
    assert shelf.preparer.refused == 1


def test_a_record_that_is_refused_as_a_drop_too_stops_nobody(shelf: Shelf, collector: Collector) -> None:
    collector.answers = lambda request: (
        (422, {})
        if any(batch["first"] <= 3 < batch["first"] + batch["count"] for batch in request["batches"])
        else None
    )
    shelf.events(7)
    shelf.send()
    assert sorted(heard(collector).records) == [0, 1, 2, 4, 5, 6]


def test_the_stream_of_a_deleted_run_is_dropped(shelf: Shelf, collector: Collector, tmp_path: Path) -> None:
    shelf.events(5)
    shelf.spool.sync()
    collector.deleted.add(STREAM)
    shelf.send()
    assert not shelf.spool.streams
    assert not (tmp_path / STREAM).exists()


def test_a_stream_that_is_refused_is_set_aside_whole_and_the_others_are_not_touched(
    shelf: Shelf, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = shelf.spool.add("6" * 32, {"identity": {"worker": "v"}, "boot": "boot", "wall_ns": 0, "mono_ns": 0})
    other.insert([shelf.record(slots.EVENT, name=other.name("e")) for _ in range(100)])
    shelf.events(5)
    shelf.spool.sync()
    collector.refused[STREAM] = "a name holds a character that cannot be stored"
    shelf.send()
    assert list(shelf.spool.streams) == ["6" * 32]
    assert collector.streams["6" * 32].whole()
    assert STREAM in shelf.spool.discarded
    assert not (tmp_path / STREAM).exists()
    (aside,) = (tmp_path / "refused").iterdir()
    assert aside.name.startswith(STREAM)
    assert list(aside.iterdir())
    assert caplog.text.count("cannot be stored") == 1
    assert shelf.preparer.refused == 5
    assert list(Spool(tmp_path).find({})) == ["6" * 32]
    other.journal.remove()


def test_where_much_was_set_aside_already_a_refused_stream_is_removed(
    shelf: Shelf, collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "REFUSED_STREAMS_BYTES", 0)
    shelf.events(5)
    collector.refused[STREAM] = "no"
    shelf.send()
    assert not list((tmp_path / "refused").iterdir())


def test_a_server_that_refuses_every_request_is_asked_ever_more_slowly(shelf: Shelf, collector: Collector) -> None:
    collector.answers = lambda request: (422, {}) if request["batches"] else None
    shelf.events(20)
    pauses = [step(shelf) for _ in range(60)]
    assert pauses[1:10] == [0.0] * 9
    assert all(pause > 0 for pause in pauses[40:])
    collector.answers = lambda _: None
    shelf.send()
    assert heard(collector).whole()


def test_what_the_server_misses_is_sent_again_from_disk(shelf: Shelf, collector: Collector) -> None:
    shelf.events(50)
    collector.missing[STREAM] = [[10, 19]]
    step(shelf)
    step(shelf)
    assert list(shelf.stream.pending) == [(10, 19)]
    shelf.send()
    assert heard(collector).whole()
    last = collector.requests[-1]["batches"][0]
    assert (last["first"], last["count"]) == (10, 10)
    assert len(heard(collector).of("event")) == 50


def test_what_nobody_has_any_more_is_declared_lost(shelf: Shelf, collector: Collector) -> None:
    shelf.events(50)
    shelf.stream.end()
    shelf.send()
    heard(collector).records.clear()
    shelf.stream.ask_again(20, 29)
    shelf.send()
    (drop, *_) = heard(collector).of("drop")
    assert (drop["number"], drop["span"], drop["count"], drop["reason"]) == (20, 10, 10, "not kept")


def test_a_stream_that_the_answer_does_not_name_is_not_taken_for_stored(shelf: Shelf, collector: Collector) -> None:
    answer_once(collector, (200, {}))
    shelf.events(4)
    step(shelf)
    step(shelf)
    assert shelf.spool.waiting() == 4
    shelf.send()
    assert heard(collector).whole()


def test_nobody_listening_is_told_and_tried_again_soon(shelf: Shelf, collector: Collector) -> None:
    collector.stop()
    shelf.events(1)
    pauses = [step(shelf) for _ in range(8)]
    assert shelf.courier is not None
    assert "no answer" in shelf.courier.trouble
    assert max(pauses) <= 2.5  # a server that comes back is met within 3 s
    collector.start()
    shelf.send()
    assert not shelf.courier.trouble


def test_a_connection_is_kept_and_opened_again_when_the_server_closed_it(shelf: Shelf, collector: Collector) -> None:
    shelf.events(1)
    shelf.send()
    collector.stop()
    collector.start()
    shelf.events(1)
    started = time.monotonic()
    step(shelf)
    assert shelf.spool.waiting() == 0 or time.monotonic() - started < 5
    shelf.send()
    assert heard(collector).whole()


def test_a_spool_of_another_boot_maps_by_its_wall_clock_and_claims_no_error(
    tmp_path: Path, collector: Collector
) -> None:
    shelf = Shelf(tmp_path, collector.url)
    shelf.stream.boot = "another boot"
    shelf.events(1)
    shelf.send()
    last = heard(collector).last
    assert (last["offset_ns"], last["error_ns"]) == (6_000, None)
    assert [row["time_ns"] for row in heard(collector).of("event")] == [5_000]
    shelf.close()


def test_several_streams_share_a_request_fairly(shelf: Shelf, collector: Collector) -> None:
    shelf.events(preparing.MAX_RECORDS * 3)
    other = shelf.spool.add("6" * 32, {"identity": {"worker": "v"}, "boot": "boot", "wall_ns": 0, "mono_ns": 0})
    other.insert([shelf.record(slots.EVENT, name=other.name("e")) for _ in range(100)])
    step(shelf)
    step(shelf)
    counts = {batch["stream"]: batch["count"] for batch in collector.requests[1]["batches"]}
    assert counts["6" * 32] == 100
    assert counts[STREAM] >= 1_000
    other.journal.remove()


def test_a_record_that_cannot_be_encoded_is_set_aside_alone(shelf: Shelf, collector: Collector) -> None:
    shelf.events(20)
    shelf.events(1, b'{"a": NaN}')  # no SDK writes this; what does must not stop the rest
    shelf.events(20)
    shelf.send()
    assert heard(collector).whole()
    assert [drop["number"] for drop in heard(collector).of("drop")] == [20]


def test_a_record_of_a_sort_that_is_not_known_is_a_counted_drop(shelf: Shelf, collector: Collector) -> None:
    shelf.events(1)
    shelf.stream.insert([shelf.record(99)])
    shelf.send()
    assert [drop["number"] for drop in heard(collector).of("drop")] == [1]


def test_a_spool_that_is_removed_meanwhile_is_a_counted_gap_and_no_end(
    shelf: Shelf, collector: Collector, tmp_path: Path
) -> None:
    shelf.events(10_000)
    shutil.rmtree(tmp_path)
    shelf.send()
    shelf.events(3_000)
    shelf.send()
    assert heard(collector).whole()
    assert heard(collector).of("drop")
    assert len(heard(collector).of("event")) >= 3_000


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=answer)
        thread.start()
        shelf = Shelf(tmp_path / "spool", f"https://127.0.0.1:{listening.getsockname()[1]}")
        step(shelf)
        thread.join()
    assert shelf.courier is not None
    assert "CERTIFICATE_VERIFY_FAILED" in shelf.courier.trouble
    shelf.close()


def certificate(folder: Path) -> Path:
    """A key and a certificate that it signed itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(secret + signed.public_bytes(Encoding.PEM))
    return path
