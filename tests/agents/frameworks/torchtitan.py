"""The spans of TorchTitan's trainer, by its own structured log; the trainer itself wants a GPU."""

import time

from torchtitan.observability import structured_logger as sl

STEPS, FAILS_AT = 4, 3
sl.init_structured_logger(source="training", output_dir=".")
sl.log_trace_instant("training_start")


@sl.log_trace_span("fwd_bwd")
def forward_backward(step: int) -> None:
    with sl.log_trace_span("post_dataloading_process"):
        time.sleep(0.002)
    if step == FAILS_AT:
        raise ValueError("no such batch")


for number in range(1, STEPS):
    sl.set_step(number, relative_step=number)
    with sl.log_trace_span("step"):
        with sl.log_trace_span("fetching_batch"):
            time.sleep(0.002)
        forward_backward(number)
        sl.log_trace_scalar({"loss": 1.0 / number})
        with sl.log_trace_span("optim"):
            time.sleep(0.002)
        if number == 1:
            with sl.log_trace_span("checkpoint_save"):
                time.sleep(0.002)
