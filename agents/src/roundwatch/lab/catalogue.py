"""All scenarios by their names. A new one is a function that makes it and a line here."""

from collections.abc import Callable, Mapping

from roundwatch.lab import exchanges, jobs, study_exchange, study_run
from roundwatch.lab.shapes import Scenario

MAKERS: tuple[Callable[[], Scenario], ...] = (
    study_run.scenario,
    study_exchange.dry_run,
    study_exchange.follow_up,
    jobs.four_gpus,
    jobs.straggler,
    exchanges.quorum,
    exchanges.pipelined,
    exchanges.mixed,
)


def scenarios() -> Mapping[str, Scenario]:
    """Every scenario by its name, in the order in which they are listed."""
    return {made.name: made for made in (make() for make in MAKERS)}
