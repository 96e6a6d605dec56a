"""Hugging Face Trainer: `Trainer(callbacks=[roundwatch.integrations.transformers.Callback("project")])`."""

from typing import Any

from roundwatch.integrations.cues import Cues, combined, model_bytes
from roundwatch.misuse import harmless
from roundwatch.run import Run, init

# What names places, people or keys says nothing of how a training runs.
PRIVATE = ("dir", "hub", "token", "run_name", "report_to", "trackio", "url", "password", "secret", "file", "path")


# What Trainer adds to each log of how long, how fast and where it stands: the run's phases and rounds tell it.
ADDED = frozenset({"epoch", "total_flos"})
ADDED_ENDS = ("_runtime", "_samples_per_second", "_steps_per_second", "_model_preparation_time")
SUMMARY = "train_runtime"  # stands only in the last log, which has nothing new


class Hooks:
    """Records a training: `data`, `step`, `forward`, `backward`, `allreduce`, `optimizer`, `eval`, `save`, its log.

    With `run` it records into that one, which stays the caller's; else it begins one of `project` with each training,
    with the other arguments of `roundwatch.init`, and ends it with the training. One that fails ends as failed with its
    process, since Trainer calls nobody back then.
    """

    def __init__(self, project: str = "", *, run: Run | None = None, **more: Any) -> None:
        super().__init__()
        self._given, self._project, self._more = run, project, more
        self._cues: Cues | None = None
        self._due: list[str] = []
        self._logs = False

    @harmless()
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """The run begins, on each rank; one that is still open goes on: Trainer has found a smaller batch size."""
        if self._cues is not None:
            self._cues.close()
            return
        known = {"config": _config(args), "rounds": state.max_steps, "model_bytes": model_bytes(model)}
        run = self._given or init(self._project, **{**known, **self._more})
        self._cues = Cues(run)
        _watch(run, model)

    @harmless()
    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The data loader makes its iterator, and may start its workers."""
        if self._cues is not None:
            self._cues.wait(state.global_step)

    @harmless()
    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """All batches of an optimizer step are there."""
        if self._cues is not None:
            self._cues.step(state.global_step)

    @harmless()
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The optimizer has stepped; Trainer now logs, evaluates and saves, and says when each is over."""
        self._go_on(state, control)

    @harmless()
    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The same at the end of an epoch, where no batch was to come."""
        if self._cues is not None:
            self._cues.no_data()
        self._go_on(state, control)

    @harmless()
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Numbers of the training or of an evaluation."""
        if self._cues is not None:
            self._cues.run.log(_metrics(logs or {}))
        if self._logs:
            self._logs = False
            self._next(state)

    @harmless()
    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """An evaluation is over."""
        self._over("eval", state)

    @harmless()
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A checkpoint is written."""
        self._over("save", state)

    @harmless()
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The last round ends."""
        cues, self._cues = self._cues, None
        if cues is not None:
            cues.close()
            if self._given is None:
                cues.run.finish()

    def _go_on(self, state: Any, control: Any) -> None:
        self._due = ["eval"] * control.should_evaluate + ["save"] * control.should_save
        logged = state.log_history[-1].get("step") if state.log_history else None
        self._logs = control.should_log and logged != state.global_step
        if not self._logs:
            self._next(state)

    def _next(self, state: Any) -> None:
        if self._cues is None:
            return
        if self._due:
            self._cues.begin(self._due.pop(0))
        elif state.global_step < state.max_steps:
            self._cues.wait(state.global_step)

    def _over(self, name: str, state: Any) -> None:
        if self._cues is not None:
            self._cues.end(name)
            self._next(state)


def _metrics(logs: dict[str, Any]) -> dict[str, float]:
    """Losses, the learning rate, gradients' norms, what a `compute_metrics` gives, and what is logged by hand."""
    return {
        name: value
        for name, value in logs.items()
        if isinstance(value, int | float) and not (name in ADDED or name.endswith(ADDED_ENDS) or SUMMARY in logs)
    }


def _config(args: Any) -> dict[str, Any]:
    """Trainer's arguments that decide how a training runs: numbers, switches and words, no places and no keys."""
    return {
        name: value
        for name, value in args.to_dict().items()
        if (isinstance(value, bool | int | float) or (isinstance(value, str) and "/" not in value))
        and not any(word in name for word in PRIVATE)
    }


def _watch(run: Run, model: Any) -> None:
    """Watches the model; where Trainer has wrapped it for several ranks, the wrapper, which the first step shows."""
    from torch import distributed  # noqa: PLC0415 - where there is a Trainer, there is torch
    from torch.nn.parallel import DistributedDataParallel  # noqa: PLC0415

    several = distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
    if not several or isinstance(model, DistributedDataParallel):
        run.watch_ddp(model)
        return

    @harmless()
    def met(*_: Any) -> None:
        handle.remove()
        # Trainer gives its callbacks the model alone; torch tells which wrapper is at work.
        active: Any = DistributedDataParallel._get_active_ddp_module  # noqa: SLF001
        run.watch_ddp(active() or model)

    handle = model.register_forward_pre_hook(met)


def __getattr__(name: str) -> Any:
    if name != "Callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from transformers import TrainerCallback  # noqa: PLC0415 - loaded when it is asked for

    made = globals()["Callback"] = combined("Callback", __name__, Hooks, TrainerCallback)
    return made
