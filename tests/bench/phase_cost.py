"""What one phase costs a training, beside an OpenTelemetry span where that is installed: medians, printed.

Run as `python -m tests.bench phase_cost`. The ring is emptied between the batches that are measured, as a shipper
would; an OpenTelemetry span with one attribute goes to a batch processor whose exporter discards it. Both are measured
in turns.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from roundwatch import ring
from roundwatch.reader import RingReader
from roundwatch.run import Run
from tests.bench.table import Row, conditions, show

TURNS, BATCHES, CALLS = 5, 15, 4_000
MOST = 1 / 12
PHASE, SPAN = "phase", "OpenTelemetry span with one attribute"
Costs = dict[str, list[float]]


def add(costs: Costs, name: str, act: Callable[[], None], between: Callable[[], None] = lambda: None) -> None:
    """Nanoseconds per call of `act`, which makes CALLS of them, for each of some batches."""
    for _ in range(BATCHES):
        between()
        began = time.perf_counter_ns()
        act()
        costs.setdefault(name, []).append((time.perf_counter_ns() - began) / CALLS)


def add_ours(costs: Costs, folder: Path) -> None:
    """The ways to record with an open round, as a training has one, and steps that are the rounds."""
    made = ring.create(folder, "bench", b"{}")
    reader = RingReader(folder / "bench.ring")
    run = Run(made, None, "bench")

    def empty() -> None:
        reader.rest()
        reader.free(reader.next)

    def plain() -> None:
        for _ in range(CALLS):
            with run.phase("train"):
                pass

    def attribute() -> None:
        for _ in range(CALLS):
            with run.phase("upload", nbytes=1_234):
                pass

    def event() -> None:
        for _ in range(CALLS):
            run.event("tick")

    def step() -> None:
        for _ in run.steps(range(CALLS)):
            pass

    with run.round(0):
        add(costs, PHASE, plain, empty)
        add(costs, "phase with one attribute", attribute, empty)
        add(costs, "event", event, empty)
        add(costs, "step of a round, with its wait for data", step, empty)
    add(costs, "step that is a round, with its wait for data", step, empty)
    run.finish()
    reader.close(remove=True)


def add_spans(costs: Costs) -> None:
    """OpenTelemetry's spans with one attribute, where it is installed."""
    try:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    except ImportError:
        return

    class Discarding(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:  # noqa: ARG002 - the form that is asked for
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Discarding()))
    tracer = provider.get_tracer("bench")

    def spans() -> None:
        for _ in range(CALLS):
            with tracer.start_as_current_span("train", attributes={"round": 1}):
                pass

    add(costs, SPAN, spans)
    provider.shutdown()


def main() -> None:
    conditions("phase_cost", f"{TURNS * BATCHES} batches of {CALLS:,} calls")
    shm = Path("/dev/shm")
    costs: Costs = {}
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
            add_ours(costs, Path(folder))
        add_spans(costs)
    medians = {name: statistics.median(found) for name, found in costs.items()}
    span = medians.pop(SPAN, None)
    if span is None:
        print("OpenTelemetry is not installed: no comparison (pip install opentelemetry-sdk)")
    most = {PHASE: MOST} if span else {}
    show(Row(name=name, ours=cost, unit="ns", reference=span, most=most.get(name)) for name, cost in medians.items())


if __name__ == "__main__":
    main()
