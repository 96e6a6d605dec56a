"""The anatomy of a data-parallel step: forward, backward, all-reduce and optimizer, from torch's own hooks.

No communication hook is registered, so a user's stays what it is, and so does torch's own all-reduce. The backward pass
calls back when its last gradient is computed, before DDP's own callback waits for the buckets still on their way, and
again after it: between both is what of the all-reduce is not hidden behind the backward pass, the same on every
backend. A rank that comes late to it waits least. How long the buckets travelled in all, and how much of that the
backward pass hid, is what DDP itself has measured.
"""

from collections.abc import Callable
from time import monotonic_ns
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from roundwatch.misuse import describe, leave_out, ours, tell_once
from roundwatch.phases import Recorder
from roundwatch.torch.hooks import Hook
from roundwatch.torch.marks import DeviceMarks, HostMarks
from roundwatch.torch.memory import DeviceMemory, of_device
from roundwatch.torch.outputs import tensors_in
from roundwatch.torch.overlap import UNTOLD, Overlap
from roundwatch.torch.spans import Spans

NAMES = ("broadcast", "forward", "backward", "allreduce", "optimizer")


def watch(model: Any, recorder: Recorder) -> "Watch":
    """Records the steps of `model`: a DistributedDataParallel, a module without it, or what torch.compile made of one.

    Raises TypeError for what is no module.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"watch_ddp takes a model, not {type(model).__name__}")
    return Watch(model, Spans(recorder))


class Watch:
    """The hooks on one model, and where in its step it is. It keeps neither the model nor what steps it alive.

    Each hook guards itself: between two operations of torch a frame more, as of a decorator, costs half a microsecond.
    """

    def __init__(self, model: torch.nn.Module, spans: Spans) -> None:
        inside: Any = _uncompiled(model)
        self._inside: Callable[[], Any] = ref(inside)
        self._parallel = isinstance(inside, torch.nn.parallel.DistributedDataParallel)
        # A wrapper's own switch says nothing: after an evaluation Lightning sets back what is within it alone.
        self._trained: Callable[[], Any] = ref(_trained(model))
        device = next((parameter.device for parameter in model.parameters() if parameter.is_cuda), None)
        on_device = device is not None
        self._heads = {name: spans.head(name, device=on_device) for name in NAMES}
        self._gathering = spans.gathering
        self._memory: DeviceMemory | None = of_device(device) if on_device else None
        marks: Any = (
            DeviceMarks(spans, _cuda_event, torch.cuda.is_current_stream_capturing) if on_device else HostMarks(spans)
        )
        self._marks, self._write, self._now, self._place = marks, marks.write, marks.now, marks.where
        self._overlap = Overlap(inside, on_device=on_device) if self._parallel else None
        self._parameters = {id(parameter) for parameter in model.parameters()}
        self._own: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._last_own: Callable[[], Any] = lambda: None
        engine: Any = torch.autograd.Variable._execution_engine  # noqa: SLF001 - as DDP's own Python does it
        self._queue: Callable[[Callable[[], None]], None] = engine.queue_callback
        self._seq = 0
        group = _group_of(inside) if self._parallel else ""
        self._group = spans.group(group) if group else 0
        self._began: Any = None
        self._backward: Any = None
        self._stepping: int | None = None  # the identity of the optimizer
        self._reduces = False
        self._listen(model)

    def _listen(self, model: torch.nn.Module) -> None:
        self._on_gradient = Hook(self._backward_begins)
        self._handles = [
            model.register_forward_pre_hook(Hook(self._forward_begins)),
            model.register_forward_hook(Hook(self._forward_ends)),
            register_optimizer_step_pre_hook(self._optimizer_begins),
            register_optimizer_step_post_hook(self._optimizer_ends),
        ]
        # Within a compiled model a hook of ours would break its graph.
        inside: Any = model
        self._buffers = self._parallel and self._inside() is model and next(model.buffers(), None) is not None
        if self._buffers:
            self._handles.append(inside.module.register_forward_pre_hook(Hook(self._buffers_agree)))

    def stays(self, other: Any) -> bool:
        """False, and closed, where its model is gone or is what `other` trains, which is watched anew.

        Not done as the model goes: that can be within an optimizer's step, where torch goes through these hooks.
        """
        trained = self._trained()
        if trained is not None and trained is not _trained(other):
            return True
        self.close()
        return False

    def close(self) -> None:
        """Takes the hooks away, and what the device has reached into the ring."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._marks.settle()

    def _forward_begins(self, *_: Any) -> None:
        try:
            self._began = self._backward = self._stepping = None
            if self._memory is not None:
                self._marks.poll()
            if self._trained().training and torch.is_grad_enabled():
                self._where = self._place()
                inside = self._inside()
                self._reduces = self._parallel and inside.require_backward_grad_sync
                self._agreeing = self._buffers and inside.will_sync_module_buffers()
                self._began = self._now()
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _buffers_agree(self, *_: Any) -> None:
        """Before its own forward DDP gives the buffers of rank 0 to all, and so waits for it."""
        try:
            if self._began is not None and self._agreeing:
                begun, self._began = self._began, self._now()
                self._agreeing = False
                self._write(self._heads["broadcast"], self._where, begun, self._began)
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _forward_ends(self, _: Any, __: Any, output: Any) -> None:
        try:
            if self._began is None:
                return
            self._write(self._heads["forward"], self._where, self._began, self._now())
            self._began = None
            tensors = [output] if isinstance(output, torch.Tensor) else list(tensors_in(output))
            for tensor in tensors:
                # A parameter would keep the hook for good, and what is returned again has it already.
                if tensor.requires_grad and not tensor.is_leaf and not self._hooked(tensor):
                    tensor.register_hook(self._on_gradient)
            if not tensors:
                tell_once("watch_ddp finds no tensor in what the model returns: its backward pass is not recorded")
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _hooked(self, tensor: Any) -> bool:
        hooks = tensor._backward_hooks  # noqa: SLF001 - torch has no other door to them
        return hooks is not None and self._on_gradient in hooks.values()

    def _backward_begins(self, _: Any) -> None:
        try:
            if self._backward is None:
                self._where = self._place()
                self._backward_ns = monotonic_ns()
                self._backward = self._now()
                self._queue(self._backward_computed)
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _backward_computed(self) -> None:
        """The last gradient is there; DDP waits for the others' from here on."""
        try:
            self._compute_ended = self._now()
            self._write(self._heads["backward"], self._where, self._backward, self._compute_ended)
            if self._reduces:
                self._queue(self._reduced)
            else:
                self._backward = None
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _reduced(self) -> None:
        try:
            self._backward = None
            ended = self._now()
            told = UNTOLD if self._overlap is None else self._overlap.read(self._backward_ns)
            collective = self._group, self._seq, *told
            self._seq += 1
            self._write(self._heads["allreduce"], self._where, self._compute_ended, ended, collective)
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _optimizer_begins(self, optimizer: Any, *_: Any) -> None:
        try:
            # One that steps within the backward pass, parameter by parameter, is part of it.
            free = self._stepping is None or self._stepping == id(optimizer)
            if free and self._backward is None and self._is_own(optimizer):
                self._stepping = id(optimizer)
                self._stepping_at = self._place()
                self._stepping_began = self._now()
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _optimizer_ends(self, optimizer: Any, *_: Any) -> None:
        try:
            if self._stepping != id(optimizer):
                return
            self._stepping = None
            self._write(self._heads["optimizer"], self._stepping_at, self._stepping_began, self._now())
            if self._memory is not None:
                self._marks.poll()
                if self._gathering.step is not None:
                    self._gathering.memory = self._memory.read() or self._gathering.memory
        except Exception as error:
            if not ours(error):
                raise
            _left_out(error)

    def _is_own(self, optimizer: Any) -> bool:
        """Whether it steps this model's parameters; asked of each optimizer once."""
        if self._last_own() is optimizer:
            return True
        own = self._own.get(optimizer)
        if own is None:
            parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
            alive = self._trained() is not None  # else its parameters' identities may be others' by now
            own = self._own[optimizer] = alive and any(id(parameter) in self._parameters for parameter in parameters)
        if own:
            self._last_own = ref(optimizer)
        return own


def _left_out(error: Exception) -> None:
    leave_out(f"a part of a step is left out: {describe(error)}")


def _uncompiled(model: Any) -> Any:
    """What torch.compile was given, where it made this model."""
    return getattr(model, "_orig_mod", model)


def _trained(model: Any) -> Any:
    """The module itself: within DistributedDataParallel, and within what torch.compile made."""
    inside = _uncompiled(model)
    return inside.module if isinstance(inside, torch.nn.parallel.DistributedDataParallel) else inside


def _group_of(model: Any) -> str:
    """The name that torch gave to the processes that reduce together; empty where it gave none."""
    name = getattr(getattr(model, "process_group", None), "group_name", None)
    return name if isinstance(name, str) else ""


def _cuda_event() -> Any:
    event: Any = torch.cuda.Event
    return event(enable_timing=True)
