"""A watched model stays a model: it can be copied and saved, it goes when it is let go, and nothing piles up on it."""

import copy
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

from tests.agents.recorder import Recording
from tests.agents.test_torch_anatomy import group, learn, names, network, parallel

torch = pytest.importorskip("torch", reason="torch is not installed here")
__all__ = ["group"]


def _saved(model: Any) -> Any:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


COPIES: dict[str, Callable[[Any], Any]] = {
    "copied": copy.deepcopy,
    "copied twice": lambda model: copy.deepcopy(copy.deepcopy(model)),
    "pickled": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301 - its own
    "saved": _saved,
    "averaged": torch.optim.swa_utils.AveragedModel,
    "given to a process": lambda model: pickle.loads(ForkingPickler.dumps(model)),  # noqa: S301 - its own
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("wrapped", [False, True], ids=["alone", "of a wrapper"])
def test_a_copy_of_a_watched_model_works_and_is_not_recorded(
    recording: Recording, group: None, copied: Callable[[Any], Any], wrapped: bool
) -> None:
    model = parallel(torch.nn.BatchNorm1d(4)) if wrapped else network()
    recording.run.watch_ddp(model)
    learn(copied(model.module if wrapped else model))
    assert not names(recording)
    learn(model)
    assert "backward" in names(recording)


def test_what_is_saved_of_a_watched_model_does_not_name_this_package(recording: Recording) -> None:
    model = network()
    recording.run.watch_ddp(model)
    assert b"roundwatch" not in pickle.dumps(model)


def test_a_watched_model_goes_when_it_is_let_go_and_its_hooks_with_the_next(recording: Recording, group: None) -> None:
    from torch.optim import optimizer as hooked

    before = len(hooked._global_optimizer_pre_hooks)
    gone = []
    for make in (network, parallel, network):
        model = make()
        gone += [weakref.ref(parameter) for parameter in model.parameters()]
        recording.run.watch_ddp(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        learn(model)
        optimizer.step()
        del model, optimizer
        gc.collect()
        assert not [parameter for parameter in gone if parameter() is not None]
    assert len(hooked._global_optimizer_pre_hooks) == before + 1


def test_a_model_that_is_watched_again_is_recorded_once(recording: Recording, group: None) -> None:
    model = parallel()
    for watched in (model.module, model, model):
        recording.run.watch_ddp(watched)
    learn(model)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert names(recording) == ["forward", "backward", "allreduce", "optimizer"]


class Returning(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Returns a parameter of its own, and the same result again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.kept = self.scale * 2

    def forward(self, batch: Any) -> Any:
        return batch * self.scale, self.scale, self.kept


def test_no_hook_piles_up_on_what_a_model_returns_again(recording: Recording) -> None:
    model = Returning()
    recording.run.watch_ddp(model)
    for _ in range(3):
        result, scale, _kept = model(torch.ones(2))
        (result * scale).sum().backward()
    assert not model.scale._backward_hooks
    assert len(model.kept._backward_hooks) == 1
    assert names(recording) == ["forward", "backward"] * 3
