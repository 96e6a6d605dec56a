"""Hugging Face Accelerate: `Accelerator(log_with=roundwatch.integrations.accelerate.Tracker("project"))`."""

from typing import Any

from roundwatch.integrations.cues import combined, plain
from roundwatch.misuse import harmless
from roundwatch.run import Run, init


class Hooks:
    """A tracker of `project`: what `accelerator.log` is given, and `run`, to record the loop of each rank with.

    It begins its run with `init_trackers`, which tells it the configuration, or when `run` is first asked for, with the
    other arguments of `roundwatch.init`. Accelerate calls a tracker on the main process only, so that the others record
    from when they ask for `run`. `end_training` ends it, on the other processes their end.
    """

    name = "roundwatch"
    requires_logging_directory = False
    main_process_only = False

    def __init__(self, project: str, *, run: Run | None = None, **more: Any) -> None:
        super().__init__()
        self._project, self._more = project, more
        self._given = self._run = run

    @property
    def run(self) -> Run:
        """This process's part in the run. Raises what `roundwatch.init` raises."""
        if self._run is None:
            self._run = init(self._project, **self._more)
        return self._run

    @property
    def tracker(self) -> Run:
        """The same: what `accelerator.get_tracker("roundwatch", unwrap=True)` gives."""
        return self.run

    def start(self) -> None:
        """Nothing yet: the configuration is told next."""

    @harmless()
    def store_init_configuration(self, values: Any) -> None:
        """What `init_trackers` is given as `config`."""
        self._more.setdefault("config", plain(values))
        _ = self.run

    @harmless()
    def log(self, values: Any, step: int | None = None, **_: Any) -> None:
        """Numbers over time; what is no number is none of ours."""
        self.run.log({name: value for name, value in values.items() if not isinstance(value, str)})

    @harmless()
    def finish(self) -> None:
        """What `accelerator.end_training` calls."""
        if self._given is None and self._run is not None:
            self._run.finish()


def __getattr__(name: str) -> Any:
    if name != "Tracker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from accelerate.tracking import GeneralTracker  # noqa: PLC0415 - loaded when it is asked for

    made = globals()["Tracker"] = combined("Tracker", __name__, Hooks, GeneralTracker)
    return made
