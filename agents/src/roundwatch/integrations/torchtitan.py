"""TorchTitan: spans and scalars of its structured log as phases, rounds and numbers.

`export TITAN_STRUCT_LOGGER_HANDLERS=roundwatch.integrations.torchtitan.register` and nothing else; add TorchTitan's own
handler after a comma to keep its file. The project is ROUNDWATCH_PROJECT, else "torchtitan".
"""

import logging
import os
import sys
from _thread import get_ident
from typing import Any

from roundwatch.integrations.cues import Cues
from roundwatch.misuse import harmless
from roundwatch.run import Run, init

# TorchTitan's spans as phases, where its word is another or says nothing of the kind.
NAMES = {"fetching_batch": "data", "optim": "optimizer", "checkpoint_save": "save", "checkpoint_load": "load"}
KINDS = {
    "fwd_bwd": "compute",
    "post_dataloading_process": "input",
    "collect_dist_metrics": "transfer",
    "torch_distributed_init": "wait",
}


def register(*, structured_logger: logging.Logger, source: str = "training", **_: Any) -> None:
    """What `init_structured_logger` calls. Begins this rank's part in a run; another source than "training", such as
    the actors of reinforcement learning, is a group of its own. Never raises.
    """
    _register(structured_logger, source)


@harmless()
def _register(structured_logger: logging.Logger, source: str) -> None:
    run = init(
        os.environ.get("ROUNDWATCH_PROJECT") or "torchtitan",
        group=None if source == "training" else source,
    )
    structured_logger.addHandler(Handler(run))


class Handler(logging.Handler):
    """Reads the records of spans, scalars and instants as TorchTitan marks them."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._cues: dict[tuple[int, Any], Cues] = {}  # by thread and task: spans of several are open at once
        self._error: BaseException | None = None

    @harmless()
    def emit(self, record: logging.LogRecord) -> None:
        """One record, from within the training."""
        told: Any = record.__dict__
        name = told.get("log_type_name")
        if name == "metric_value":
            self._run.log({told["event_name"]: told["value"]})
        elif told.get("log_type") == "instant":
            self._run.event(name)
        elif told.get("log_type") == "event":
            place = get_ident(), told.get("task_name")
            cues = self._cues.get(place) or self._cues.setdefault(place, Cues(self._run))
            span, _, edge = name.rpartition("_")
            self._edge(cues, span, edge, told.get("step"))
            if cues.untold:
                del self._cues[place]

    def _edge(self, cues: Cues, span: str, edge: str, step: int | None) -> None:
        if edge == "start":
            if span == "step" and step is not None:
                cues.step(step - 1)  # rounds are numbered from 0, TorchTitan's steps from 1
            else:
                cues.begin(NAMES.get(span, span), kind=KINDS.get(span))
        elif edge == "error":
            self._error = sys.exc_info()[1]
        elif edge == "end":
            error, self._error = self._error, None
            cues.end(NAMES.get(span, span), error)
