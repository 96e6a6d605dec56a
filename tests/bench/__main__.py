"""`python -m tests.bench NAME [OPTIONS]`: one benchmark; `--list` tells their names, `all` runs one after the other."""

import importlib.util
import subprocess
import sys

BENCHES = {
    "phase_cost": "what recording a phase costs, beside an OpenTelemetry span",
    "step_time": "a training's step with and without the SDK, whatever the server does",
    "allreduce": "an all-reduce loop of eight ranks with and without the SDK",
    "shipper_cost": "what shipper and samplers take of a host",
    "rivals": "a data-parallel training with the SDK, with wandb offline and with traceml-ai",
    "importing": "how long it takes to import the SDK",
    "explained": "how much of the example's wall time its recorded phases explain",
    "ingest_rate": "records a second from HTTP to commit, beside psycopg's COPY",
    "tenants": "a team's requests alone and beside teams that ask for too much",
    "senders": "1,024 senders at one step record a second",
    "mlflow": "the same records through MLflow's tracking server",
    "redis_dead": "ingest with Redis alive and dead",
    "detection": "who is named a straggler in seeded runs, healthy and not, beside simpler rules",
    "regression": "which runs are called worse than their project's own, healthy and not",
    "examples": "whether the example training's real faults are judged right",
    "alert_delay": "from a slow phase's limit until its message leaves, and until the phase ends",
    "critical_path": "what is concluded of one round with a thousand workers",
    "frames": "frames of the live view with 100,000 spans",
    "event_to_pixel": "from a training's event to the pixel that shows it",
    "viewers": "twenty viewers, one of which reads slowly",
    "page_memory": "what a page that was open for days holds",
    "run_list": "the list of 100,000 runs: every filter, searches, orders; a run's pages",
    "first_paint": "the first bars in a browser that has nothing of ours",
}


def main(arguments: list[str]) -> int:
    """Returns 0 where what was asked for ran to its end; figures that miss what was promised are no failure."""
    match arguments:
        case ["--list"]:
            for name in filter(there, BENCHES):
                print(f"{name:<16} {BENCHES[name]}")
        case ["all"]:
            return max(run(name) for name in BENCHES if there(name))
        case [name, *options] if name in BENCHES and there(name):
            return run(name, *options)
        case _:
            print(f"{__doc__}\nNames: {', '.join(filter(there, BENCHES))}", file=sys.stderr)
            return 2
    return 0


def there(name: str) -> bool:
    """Whether that benchmark can be run here."""
    return importlib.util.find_spec(f"tests.bench.{name}") is not None


def run(name: str, *options: str) -> int:
    """Runs it in a process of its own: some choose Django's settings for themselves."""
    print(f"== {name}: {BENCHES[name]}", flush=True)
    return subprocess.run([sys.executable, "-m", f"tests.bench.{name}", *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
