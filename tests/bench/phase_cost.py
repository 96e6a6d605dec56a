"""What one phase costs a training, beside an OpenTelemetry span where that is installed: medians, printed.

Run as `python tests/bench/phase_cost.py`. The ring is emptied between the batches that are measured, as a shipper
would; an OpenTelemetry span with one attribute goes to a batch processor whose exporter discards it.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from roundwatch import ring
from roundwatch.reader import RingReader
from roundwatch.run import Run

BATCHES, CALLS = 61, 4_000


def median_ns(act: Callable[[], None], between: Callable[[], None] = lambda: None) -> float:
    """Median over batches of nanoseconds per call of `act`, which makes CALLS of them."""
    found = []
    for _ in range(BATCHES):
        between()
        began = time.perf_counter_ns()
        act()
        found.append((time.perf_counter_ns() - began) / CALLS)
    return statistics.median(found)


def roundwatch_costs(folder: Path) -> dict[str, float]:
    """Medians for the ways to record with an open round, as a training has one, and for steps that are the rounds."""
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
        costs = {
            "phase": median_ns(plain, empty),
            "phase with one attribute": median_ns(attribute, empty),
            "event": median_ns(event, empty),
            "step of a round, with its wait for data": median_ns(step, empty),
        }
    costs["step that is a round, with its wait for data"] = median_ns(step, empty)
    run.finish()
    reader.close(remove=True)
    return costs


def opentelemetry_cost() -> float | None:
    """Median for one span with one attribute; None where OpenTelemetry is not installed."""
    try:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    except ImportError:
        return None

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

    cost = median_ns(spans)
    provider.shutdown()
    return cost


def main() -> None:
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        costs = roundwatch_costs(Path(folder))
    for name, cost in costs.items():
        print(f"{name:<46} {cost:9.0f} ns")
    span = opentelemetry_cost()
    if span is None:
        print("OpenTelemetry is not installed: no comparison")
    else:
        print(f"{'OpenTelemetry span with one attribute':<46} {span:9.0f} ns = {span / costs['phase']:.1f} phases")


if __name__ == "__main__":
    main()
