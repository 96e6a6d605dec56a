"""PyTorch Lightning: `Trainer(callbacks=[roundwatch.integrations.lightning.Callback("project")])`.

Works with `lightning` and with `pytorch_lightning`. Without a line of code, where ROUNDWATCH_LIGHTNING=1 is set: the
entry points in this package's metadata give each Trainer a callback, whose project is ROUNDWATCH_PROJECT.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from roundwatch.integrations.cues import Cues, combined, model_bytes, plain
from roundwatch.misuse import harmless
from roundwatch.run import Run, init

FETCH = "[_TrainingEpochLoop].train_dataloader_next"  # what Lightning's profiler calls the wait for a batch
SAVE = "save_checkpoint"
PACKAGES = ("lightning.pytorch", "pytorch_lightning")
FACTS = ("accumulate_grad_batches", "gradient_clip_val", "max_epochs", "max_steps", "num_devices", "num_nodes")


class Hooks:
    """Records a fit: `data`, `step`, `forward`, `backward`, `optimizer`, `eval` and `save`, and what it logs.

    With `run` it records into that one, which stays the caller's; else it begins one of `project` with each fit, with
    the other arguments of `roundwatch.init`, and ends it with the fit.
    """

    def __init__(self, project: str = "", *, run: Run | None = None, **more: Any) -> None:
        super().__init__()
        self._given, self._project, self._more = run, project, more
        self._forget()

    def _forget(self) -> None:
        self._cues: Cues | None = None
        self._parts = True
        self._optimizers: dict[int, Any] = {}
        self._profiler: Any = None

    @harmless()
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The run begins, on each rank."""
        run = self._given or init(self._project, **{**_known(trainer, pl_module), **self._more})
        self._cues = Cues(run)
        # A strategy that wraps the module calls it through that wrapper, whose hooks tell more: the all-reduce.
        wrapper = getattr(trainer.strategy, "model", None)
        self._parts = wrapper is None or wrapper is pl_module
        if not self._parts:
            run.watch_ddp(wrapper)
        self._listen(trainer, self._cues)

    @harmless()
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """The data loader makes its iterator, and may start its workers."""
        if self._cues is not None:
            self._cues.wait(trainer.global_step)

    @harmless()
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """The batch is there, on its device."""
        if self._cues is not None:
            self._cues.step(trainer.global_step)
            if self._parts:
                self._cues.begin("forward")

    @harmless()
    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        """The loss is known."""
        if self._cues is not None and self._parts:
            self._cues.end("forward")
            self._cues.begin("backward")

    @harmless()
    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """The gradients are there."""
        if self._cues is not None and self._parts:
            self._cues.end("backward")

    @harmless()
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """The optimizer steps; that it has, only its own hook tells."""
        if self._cues is None:
            return
        self._cues.end("forward")
        if id(optimizer) not in self._optimizers:
            self._optimizers[id(optimizer)] = optimizer.register_step_post_hook(self._stepped)
        self._cues.begin("optimizer")

    @harmless()
    def _stepped(self, *_: Any) -> None:
        if self._cues is not None:
            self._cues.end("optimizer")

    @harmless()
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """One batch is done; the step goes on until the next is asked for."""
        if self._cues is not None:
            self._cues.end("forward")
            # As often as Lightning's own loggers: on a device each number waits for it.
            if trainer.global_step % max(trainer.log_every_n_steps, 1) == 0:
                self._cues.run.log(trainer.callback_metrics)

    @harmless()
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation begins."""
        if self._cues is not None:
            self._cues.begin("eval")

    @harmless()
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation ends; its metrics are there."""
        if self._cues is not None:
            self._cues.end("eval")
            self._cues.run.log(trainer.callback_metrics)

    @harmless()
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Where the loader's length is not known, Lightning has waited for a batch that did not come."""
        if self._cues is not None:
            self._cues.no_data()

    @harmless()
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The last round ends."""
        if self._cues is not None:
            self._cues.close()

    @harmless()
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The fit fails; or it is ended from outside, which is no failure of it. Nothing else is called after it."""
        self._end("failed" if isinstance(exception, Exception) else "killed", exception)

    @harmless()
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """The fit is over."""
        self._end("finished")

    def _end(self, state: str, error: BaseException | None = None) -> None:
        cues, optimizers, profiler = self._cues, self._optimizers, self._profiler
        if cues is None:
            return
        self._forget()
        for handle in optimizers.values():
            handle.remove()
        for name in ("start", "stop") if profiler is not None else ():
            vars(profiler).pop(name, None)
        cues.close(error)
        if self._given is None:
            cues.run.finish(state, error=error)

    def _listen(self, trainer: Any, cues: Cues) -> None:
        """Lightning calls back neither before it fetches a batch nor about a checkpoint, but tells its profiler."""
        profiler = trainer.profiler
        start, stop = profiler.start, profiler.stop
        self._profiler = profiler

        def started(name: str) -> None:
            _hear(name, lambda: cues.wait(trainer.global_step), lambda: cues.begin("save"))
            start(name)

        def stopped(name: str) -> None:
            stop(name)
            _hear(name, lambda: None, lambda: cues.end("save"))

        profiler.start, profiler.stop = started, stopped


@harmless()
def _hear(name: str, at_fetch: Callable[[], None], at_save: Callable[[], None]) -> None:
    if name == FETCH:
        at_fetch()
    elif name == SAVE:
        at_save()


def _known(trainer: Any, module: Any) -> dict[str, Any]:
    """What Lightning knows of the training, as arguments of `init`."""
    facts = {name: getattr(trainer, name, None) for name in FACTS} | {"precision": str(trainer.precision)}
    chosen: Any = plain(dict(getattr(module, "hparams", None) or {}))
    batches, steps = trainer.num_training_batches, trainer.max_steps
    if steps < 0 and trainer.max_epochs and trainer.max_epochs > 0 and batches != float("inf"):
        steps = trainer.max_epochs * -(-batches // trainer.accumulate_grad_batches)
    rounds = steps if steps >= 0 else None
    return {"config": facts | chosen, "rounds": rounds, "model_bytes": model_bytes(module)}


def from_environment() -> list[Any]:
    """For Lightning's entry points: a callback where ROUNDWATCH_LIGHTNING is 1, else none."""
    if os.environ.get("ROUNDWATCH_LIGHTNING") != "1":
        return []
    made: Any = _callback()
    return [made(os.environ.get("ROUNDWATCH_PROJECT") or "lightning")]


def _callback() -> type:
    """The class for whichever of both packages is loaded, and for both where both are."""
    found = globals().get("Callback")
    loaded = [name for name in PACKAGES if name in sys.modules]
    bases = [importlib.import_module(name).Callback for name in loaded or [_installed()]]
    if found is None or not all(issubclass(found, base) for base in bases):
        found = globals()["Callback"] = combined("Callback", __name__, Hooks, *bases)
    return found


def _installed() -> str:
    return PACKAGES[0] if importlib.util.find_spec("lightning") else PACKAGES[1]


def __getattr__(name: str) -> Any:
    if name == "Callback":
        return _callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
