"""Profiling fields out of the text of a dcgm-exporter: three shapes of it, and exporters that answer badly."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from roundwatch.samplers import dcgm
from roundwatch.samplers.dcgm import SM_ACTIVE, DcgmSampler
from tests.agents.fakes.kernel import Kernel, values

TEXTS = Path(__file__).parent / "fakes" / "dcgm"
FIRST, SECOND = (f"GPU-0000000{index}-aaaa-0000-0000-000000000000" for index in (0, 1))


class Exporter(ThreadingHTTPServer):
    """Answers each request as `reply` says: it writes the whole answer itself."""

    daemon_threads = True

    def __init__(self, reply: Callable[[BaseHTTPRequestHandler], None]) -> None:
        exporter = self
        self.asked = 0
        self.ended = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                exporter.asked += 1
                reply(self)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/metrics"


@pytest.fixture
def serve() -> Iterator[Callable[..., Exporter]]:
    made: list[tuple[Exporter, threading.Thread]] = []

    def start(reply: Callable[[BaseHTTPRequestHandler], None]) -> Exporter:
        exporter = Exporter(reply)
        thread = threading.Thread(target=exporter.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        made.append((exporter, thread))
        return exporter

    yield start
    for exporter, thread in made:
        exporter.ended.set()
        exporter.shutdown()
        thread.join(10)
        exporter.server_close()


def told(name: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answers with one of the recorded texts."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        body = (TEXTS / f"{name}.txt").read_bytes()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def test_todays_exporter_with_pods_and_blank_values(serve: Callable[..., Exporter]) -> None:
    sampler = DcgmSampler(serve(told("version4")).url, host="trainer-1")
    readings = sampler.read()
    assert values(readings) == {
        f"{SM_ACTIVE} {FIRST}": 0.8125,
        f"gpu_sm_occupancy_ratio {FIRST}": 0.25,
        f"gpu_tensor_active_ratio {FIRST}": 0.19,
        f"gpu_dram_active_ratio {FIRST}": 0.0,
        f"gpu_engine_active_ratio {FIRST}": 0.99563,
    }
    assert {(reading.unit, reading.source) for reading in readings} == {("ratio", "device")}
    assert sampler.absent == {}


def test_a_text_gathered_from_a_cluster_is_read_for_this_host_alone(serve: Callable[..., Exporter]) -> None:
    sampler = DcgmSampler(serve(told("gathered")).url, host="trainer-1")
    assert values(sampler.read()) == {
        f"{SM_ACTIVE} {FIRST}/7": 0.5,
        f"{SM_ACTIVE} {FIRST}/8": 0.25,
        f"gpu_tensor_active_ratio {FIRST}/7": 0.125,
    }
    assert "gpu_sm_occupancy_ratio" in sampler.absent, "NaN is no value"


def test_an_exporter_in_a_pod_of_another_name_is_still_ours(serve: Callable[..., Exporter]) -> None:
    assert DcgmSampler(serve(told("version4")).url, host="some-pod").read()


def test_old_and_renamed_fields_are_known(serve: Callable[..., Exporter]) -> None:
    sampler = DcgmSampler(serve(told("renamed")).url, host="trainer-1")
    assert values(sampler.read()) == {
        f"{SM_ACTIVE} {FIRST}": 0.64,
        f"gpu_sm_occupancy_ratio {FIRST}": 0.31,
        f"gpu_tensor_active_ratio {FIRST}": 0.02,
    }


def refused(handler: BaseHTTPRequestHandler) -> None:
    handler.send_error(503)


def garbage(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x00\xff" * 100 + b"\n\n")


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"#" * (1 << 16))
    except OSError:
        return


def slow(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then keeps every single read within its timeout."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while not handler.server.ended.wait(0.05):  # type: ignore[attr-defined]
            handler.wfile.write(b"#")
    except OSError:
        return


@pytest.mark.parametrize(
    ("reply", "why"), [(refused, "503"), (garbage, "not HTTP"), (endless, "more than"), (slow, "too slow")]
)
def test_an_exporter_that_does_not_answer_as_it_should_is_left_alone_for_a_while(
    serve: Callable[..., Exporter], reply: Callable[[BaseHTTPRequestHandler], None], why: str
) -> None:
    seconds = [100.0]
    exporter = serve(reply)
    sampler = DcgmSampler(exporter.url, host="trainer-1", clock=lambda: seconds[0])
    assert sampler.read() == []
    assert why in sampler.absent[SM_ACTIVE]
    sampler.read()
    assert exporter.asked == 1
    assert why in sampler.absent[SM_ACTIVE]
    seconds[0] += dcgm.AGAIN_S
    sampler.read()
    assert exporter.asked == 2


def test_nobody_there_and_no_web_address_are_said() -> None:
    nobody = DcgmSampler("http://127.0.0.1:9/metrics", host="h")
    assert nobody.read() == []
    assert "refused" in nobody.absent[SM_ACTIVE]
    file = DcgmSampler("file:///etc/passwd", host="h")
    assert file.read() == []
    assert "http" in file.absent[SM_ACTIVE]


def test_it_is_looked_for_where_it_is_said_to_be_or_beside_an_nvidia_driver(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    assert dcgm.place({}, kernel.paths) is None
    assert (
        dcgm.place({"ROUNDWATCH_DCGM_URL": "http://exporter:9400/metrics"}, kernel.paths)
        == "http://exporter:9400/metrics"
    )
    kernel.proc("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15\n")
    assert dcgm.place({}, kernel.paths) == dcgm.USUAL
    silent = DcgmSampler(None, host="h")
    assert silent.read() == []
    assert "ROUNDWATCH_DCGM_URL" in silent.absent[SM_ACTIVE]
