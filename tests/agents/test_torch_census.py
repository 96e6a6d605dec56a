"""What a census tells of real tensors: each block of memory once, how old it is; and no code of theirs runs."""

import gc
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from roundwatch import misuse
from roundwatch.census import OLD_ROUNDS
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
from tests.agents.recorder import Recording
from tests.agents.test_census import censuses

torch = pytest.importorskip("torch", reason="torch is not installed here")
np = pytest.importorskip("numpy", reason="numpy is not installed here")
SIZE = 5_000  # tensors of this dtype, which nobody else makes here, are of one class of size
RARE = torch.int16


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, and with all that a test process holds, a whole walk can take longer than it may."""
    monkeypatch.setattr("roundwatch.census.LIMIT_S", 60)
    monkeypatch.setattr("roundwatch.census.EVERY_S", 0)
    monkeypatch.setattr("roundwatch.census.SHARE", 0)
    monkeypatch.setattr(misuse, "_known", misuse._Known())
    gc.collect()


@pytest.fixture
def quiet() -> Iterator[None]:
    """Without the cyclic collector, which would free at some time what only it can free."""
    gc.disable()
    yield
    gc.enable()


def rare(count: int = SIZE) -> Any:
    return torch.zeros(count, dtype=RARE)


def taken(recording: Recording) -> dict[str, Any]:
    """What one more census tells."""
    recording.run.census()
    attrs: dict[str, Any] = censuses(recording)[-1].attrs
    return attrs


def groups(told: dict[str, Any], dtype: str = "int16") -> list[dict[str, Any]]:
    return [group for group in told["groups"] if group["dtype"] == dtype]


def test_tensors_are_told_by_device_dtype_and_size_with_the_pause(recording: Recording) -> None:
    kept = [rare(), rare(), rare(1_000_000)]
    recording.run.next_round()
    before = time.monotonic_ns()
    told = taken(recording)
    paused = time.monotonic_ns() - before
    large, small = groups(told)
    counted = {"storages": 1, "tensors": 1, "bytes": 2_000_000, "from_bytes": 1 << 18, "below_bytes": 1 << 22}
    assert counted.items() <= large.items()
    counted = {"storages": 2, "tensors": 2, "bytes": 20_000, "from_bytes": 1 << 10, "below_bytes": 1 << 14}
    assert counted.items() <= small.items()
    assert {group["device"] for group in (large, small)} == {"cpu"}
    assert told["bytes"] >= 2_020_000
    assert told["objects"] > 1_000
    assert told["old_rounds"] == OLD_ROUNDS
    assert 0 < told["seconds"] <= paused / 1e9
    [row] = censuses(recording)
    assert before <= row.record.t0 <= before + paused
    assert row.record.round == 0
    assert len(kept) == 3


def test_memory_that_several_share_counts_once(recording: Recording) -> None:
    base = rare()
    kept = [base, base.view(-1), base[7:], torch.nn.Parameter(base, requires_grad=False), base.detach()]
    [group] = groups(taken(recording))
    assert (group["tensors"], group["storages"], group["bytes"]) == (len(kept), 1, 2 * SIZE)


def test_ages_are_rounds_since_a_census_first_met_the_memory(recording: Recording) -> None:
    old = rare()
    recording.run.next_round()
    first = taken(recording)
    assert "rounds_since" not in first
    recording.run.next_round()
    recording.run.next_round()
    young = rare()
    told = taken(recording)
    [group] = groups(told)
    assert told["rounds_since"] == 2
    assert (group["oldest_rounds"], group["old_bytes"], group["new_bytes"]) == (2, 2 * SIZE, 2 * SIZE)
    view = old[3:]
    del old
    recording.run.next_round()
    [group] = groups(taken(recording))
    assert (group["oldest_rounds"], group["old_bytes"], group["new_bytes"]) == (3, 2 * SIZE, 0)
    assert view is not young


def test_a_new_tensor_where_an_old_one_was_is_new(quiet: None, recording: Recording) -> None:
    for _ in range(50):
        recording.run.next_round()
        tensor = rare()
        [group] = groups(taken(recording))
        assert (group["oldest_rounds"], group["new_bytes"]) == (0, 2 * SIZE)
        del tensor


def test_no_memory_is_kept_by_being_remembered(quiet: None, recording: Recording) -> None:
    class Freed(np.ndarray):  # type: ignore[misc,name-defined]
        """Tells that it goes, which a plain array cannot."""

    array = np.zeros(SIZE, dtype=np.int16).view(Freed)
    reference = weakref.ref(array)
    tensor = torch.from_numpy(array)
    del array
    assert groups(taken(recording))
    assert reference() is not None
    del tensor
    assert reference() is None


def test_nothing_that_was_looked_at_is_kept(quiet: None, recording: Recording) -> None:
    class Plain:
        """Not a tensor."""

    things: list[Any] = [Plain(), lambda: things]
    reference = weakref.ref(things[0])
    taken(recording)
    things.clear()
    assert reference() is None


def test_tensors_that_were_counted_can_still_be_exchanged_in_place(recording: Recording) -> None:
    one, other = rare(), torch.ones(3)
    taken(recording)
    torch.utils.swap_tensors(one, other)
    assert other.dtype == RARE


def test_of_many_groups_the_largest_are_told_and_the_others_together(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [rare(), torch.zeros(9, dtype=torch.int8)]
    before = taken(recording)
    count = len(before["groups"]) + before.get("others", {}).get("groups", 0)
    monkeypatch.setattr("roundwatch.census.MOST_GROUPS", 1)
    kept = rare(50_000_000)
    told = taken(recording)
    [group] = told["groups"]
    assert group["bytes"] == 100_000_000
    assert told["others"]["groups"] == count
    assert told["others"]["bytes"] + group["bytes"] == told["bytes"]
    assert kept is not small


def test_as_many_groups_as_there_can_be_fit_into_one_event(recording: Recording) -> None:
    dtypes = [torch.int16, torch.int8, torch.uint8, torch.float16, torch.bfloat16, torch.complex64, torch.bool]
    kept = [torch.zeros(count, dtype=dtype) for dtype in dtypes for count in (9, 2_000, 40_000, 300_000, 5_000_000)]
    told = taken(recording)
    assert len(told["groups"]) == 20
    assert told["others"]["groups"] >= 10
    assert told["storages"] >= len(kept)


def test_a_census_that_ran_out_of_time_says_so(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundwatch.census.LIMIT_S", 0)
    told = taken(recording)
    assert told["objects"] == 0
    assert told["cut_of_objects"] > 0


def test_one_that_comes_too_soon_is_left_out_and_counted(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundwatch.census.EVERY_S", 600)
    for _ in range(4):
        recording.run.census()
    assert len(censuses(recording)) == 1
    recording.run._census._not_before_ns = 0
    assert taken(recording)["left_out"] == 3


def test_ages_of_more_than_it_remembers_are_told_to_be_missing(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roundwatch.census.MOST_KNOWN", 1)
    largest, kept = torch.zeros(50_000_000), rare()
    told = taken(recording)
    assert told["ageless"] == told["storages"] - 1
    recording.run.next_round()
    assert next(iter(groups(taken(recording), "float32")))["oldest_rounds"] == 1
    assert largest is not kept


def test_what_is_frozen_is_told_not_to_be_seen_and_stays_frozen(recording: Recording) -> None:
    kept = rare()
    gc.freeze()
    try:
        told = taken(recording)
        assert gc.get_freeze_count() >= told["frozen"] > 1_000
    finally:
        gc.unfreeze()
    assert not groups(told)
    assert groups(taken(recording))
    assert kept is not None


class Rude(type(torch.Tensor)):  # type: ignore[misc]
    """A metaclass that refuses whatever may be asked of its classes."""

    def refuse(cls, *_: object) -> Any:
        raise ArithmeticError("asked")

    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __subclasses__ = refuse


def _refused(*_: object, **__: object) -> Any:
    raise ArithmeticError("asked")


class Overridden(torch.Tensor):  # type: ignore[misc]
    """A real tensor that refuses everything that can be refused."""

    __torch_function__ = classmethod(_refused)
    untyped_storage = storage = data_ptr = numel = __hash__ = __eq__ = __len__ = __repr__ = _refused
    dtype = device = shape = nbytes = property(_refused)


class Wrapping(torch.Tensor):  # type: ignore[misc]
    """A tensor that is only a cover of another one."""

    __torch_function__ = __torch_dispatch__ = classmethod(_refused)
    inner: Any

    @staticmethod
    def around(inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(Wrapping, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made


class Liar:
    """Says that it is a tensor."""

    __class__ = property(lambda _: torch.Tensor)  # type: ignore[assignment]
    __getattr__ = _refused


def of_rude() -> Any:
    class OfRude(torch.Tensor, metaclass=Rude):  # type: ignore[misc]
        """Goes with its tensor: others ask all subclasses too."""

    return rare().as_subclass(OfRude)


def emptied() -> Any:
    """As sharded training leaves a parameter between its uses."""
    tensor = rare()
    tensor.untyped_storage().resize_(0)
    return tensor


HOSTILE: dict[str, tuple[Callable[[], Any], int]] = {
    "refuses what it is asked": (lambda: rare().as_subclass(Overridden), 2 * SIZE),
    "covers another": (lambda: Wrapping.around(rare()), 2 * SIZE),
    "is of a class that refuses": (of_rude, 2 * SIZE),
    "says that it is one": (lambda: [Liar(), rare()], 2 * SIZE),
    "has no memory": (lambda: torch.zeros(SIZE, dtype=RARE, device="meta"), 0),
    "was emptied": (emptied, 0),
    "is not filled yet": (lambda: torch._lazy_clone(rare()), 2 * SIZE),
}


@pytest.mark.parametrize(("make", "size"), HOSTILE.values(), ids=HOSTILE)
def test_no_code_of_a_tensor_runs(
    recording: Recording, caplog: pytest.LogCaptureFixture, make: Callable[[], Any], size: int
) -> None:
    kept = make()
    told = taken(recording)
    assert [group["bytes"] for group in groups(told)] == [size]
    assert not caplog.messages
    del kept


def test_a_mode_that_watches_everything_sees_nothing_of_it(recording: Recording) -> None:
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    class Dispatches(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    kept = rare()
    with Functions(), Dispatches():
        told = taken(recording)
    assert groups(told)
    assert not seen
    assert kept is not None
    with Functions():
        kept.numel()
    assert seen, "functions are torch's again"


def test_a_copy_that_is_made_only_when_it_is_written_to_is_not_made(recording: Recording) -> None:
    lazy = torch._lazy_clone(rare())
    assert groups(taken(recording))
    assert torch._C._is_cow_tensor(lazy)


def test_what_has_no_memory_to_tell_of_is_counted(recording: Recording) -> None:
    before = taken(recording).get("unread", 0)
    sparse = torch.eye(3).to_sparse()
    assert taken(recording)["unread"] == before + 1
    assert sparse.is_sparse


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace:UserWarning")
def test_a_compiled_function_may_ask_for_one(recording: Recording) -> None:
    # Dynamo says what it cannot trace, and leaves it as it is.
    @torch.compile(backend="eager")  # type: ignore[untyped-decorator]
    def step(x: Any) -> Any:
        doubled = x * 2
        recording.run.census()
        return doubled + 1

    assert step(rare()).sum() == SIZE
    assert groups(censuses(recording)[-1].attrs)


def test_a_compiled_module_is_counted_as_the_one_inside(recording: Recording) -> None:
    module = torch.nn.Linear(100, 100).to(torch.float16)
    compiled = torch.compile(module, backend="eager")
    assert compiled is not module
    [weight, _] = groups(taken(recording), "float16")
    assert weight["bytes"] == 20_000


@pytest.fixture
def alarmed() -> Iterator[None]:
    """SIGALRM raises in the training's own handler."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.signal(signal.SIGALRM, before)


def test_a_timeout_of_the_trainings_passes_through_and_the_next_works(
    alarmed: None, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("roundwatch.torch.tensors._kinds", lambda _: signal.raise_signal(signal.SIGALRM))
        with pytest.raises(TimeoutError):
            recording.run.census()
    kept = rare()
    assert groups(taken(recording))
    assert kept is not None


def test_threads_that_ask_at_once_get_one_together(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundwatch.census.EVERY_S", 600)
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait(60)
        recording.run.census()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(censuses(recording)) == 1


def test_what_the_allocator_has_given_out_is_told_where_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from roundwatch.torch import tensors

    counters = {"allocated_bytes": {"all": {"current": 7}}}
    monkeypatch.setattr(torch.cuda, "memory_stats_as_nested_dict", lambda device: counters if device.index else {})
    assert tensors.allocated(["cpu", "cuda:0", "cuda:1"]) == {"cuda:1": 7}


EACH_ROUND = """
import os, torch, roundwatch
from roundwatch import census
census.EVERY_S = census.SHARE = 0
census.LIMIT_S = 60
run = roundwatch.init("p", run_id="r")
kept = []
for index in range(3):
    with run.round(index):
        kept.append(torch.zeros(5_000, dtype=torch.int16))
child = os.fork()
if not child:
    run.census()
    with run.round(7):
        pass
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_the_environment_alone_has_one_taken_where_each_round_ends(site: Site, collector: Collector) -> None:
    site.environment["ROUNDWATCH_CENSUS"] = "1"
    site.shipper()
    site.run(EACH_ROUND)
    until(lambda: "finish" in collector.worker().turns() and collector.worker().whole(), "all has arrived")
    told = [row for row in collector.worker().of("event") if row["name"] == "census"]
    assert [row["round"] for row in told] == [0, 1, 2]
    found = [groups(row["attrs"])[0] for row in told]
    assert [group["storages"] for group in found] == [1, 2, 3]
    assert [group["oldest_rounds"] for group in found] == [0, 1, 2]
