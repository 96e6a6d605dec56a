"""Communication of a round: shares with their bands, what hides behind compute, and what stands beside them."""

import numpy as np
import pytest

from ingest.detection.communication import PARTS, Communication, measure
from ingest.detection.critical_path import walk
from ingest.detection.gpu_waiting import attribute
from tests.ingest import scenarios
from tests.ingest.detection.rounds import graph_of, members, told
from tests.ingest.scenarios import Did, Scenario

APART = {f"rank-{rank}": f"machine-{rank}" for rank in range(4)}


def measured(scenario: Scenario, index: int = 0, *, error_ns: int = 0) -> Communication:
    graph = graph_of(scenario, index, errors_ns={who.name: error_ns for who in scenario.workers})
    workers = members(scenario.workers)
    trainers = np.array([worker.lane for worker in workers if worker.role == "trainer"], np.int64)
    return measure(graph, workers, trainers, attribute(graph, walk(graph), trainers))


def step(compute_s: float, transfer: tuple[float, float]) -> Scenario:
    """Two ranks compute from 0 on and reduce in another thread meanwhile."""
    return told(
        *(Did(rank, 0, "backward", 0, compute_s) for rank in ("rank-0", "rank-1")),
        *(Did(rank, 0, "allreduce", *transfer, thread=1) for rank in ("rank-0", "rank-1")), machines=APART,
    )  # fmt: skip


def test_what_hides_behind_compute_is_not_exposed() -> None:
    found = measured(step(8, (4, 10)))

    assert found.comm_share == pytest.approx(0.6)
    assert found.exposed_share == pytest.approx(0.2)
    assert found.overlap == pytest.approx(4 / 6)
    assert found.ratio == pytest.approx(6 / 8)
    assert found.exchange_share is None


@pytest.mark.parametrize(
    ("compute_s", "transfer", "band"),
    [(9, (9, 10), "healthy"), (8, (8, 10), "elevated"), (6, (6, 10), "alarming"), (9, (2, 10), "overlapped")],
)
def test_both_shares_have_bands_and_disagree_where_transfers_overlap(
    compute_s: float, transfer: tuple[float, float], band: str
) -> None:
    assert measured(step(compute_s, transfer)).band == band


@pytest.mark.parametrize("error_ns", [0, -1, 4 * 10**9], ids=["exact clocks", "unknown clocks", "clocks 4 s apart"])
def test_waiting_for_the_last_rank_is_no_transfer_whatever_the_clocks_say(error_ns: int) -> None:
    found = measured(
        told(
            Did("rank-0", 0, "backward", 0, 3), Did("rank-0", 0, "allreduce", 3, 10),
            Did("rank-1", 0, "backward", 0, 9), Did("rank-1", 0, "allreduce", 9, 10), machines=APART,
        ),
        error_ns=error_ns,
    )  # fmt: skip

    assert found.comm_share == pytest.approx(0.1)
    assert found.ratio == pytest.approx(1 / 6)


def test_in_rounds_communication_looks_healthy_while_the_exchange_is_most_of_the_time() -> None:
    # The study's dry run: 48 s of training, 60 s of exchange, 1.3 s of it transfer.
    phases = []
    for host in ("host-0", "host-1"):
        phases += [
            Did(host, 0, "train", 0, 48), Did(host, 0, "prepare", 48, 68), Did(host, 0, "upload", 68, 68.7),
            Did(host, 0, "download", 68.7, 95.3, {"after": "save"}), Did(host, 0, "apply", 95.3, 108),
        ]  # fmt: skip
    phases += [Did("coordinator", 0, "aggregate", 0, 71.7), Did("coordinator", 0, "save", 71.7, 94.7)]

    found = measured(told(*phases, wall_s=108.0))

    assert (found.band, found.exchange_share) == ("healthy", pytest.approx(60 / 108))
    assert found.comm_share == pytest.approx(1.3 / 108)
    assert found.waiting_s["encode"] == pytest.approx(20)
    assert found.waiting_s["coordinator"] == pytest.approx(3 + 23)
    assert found.waiting_s["transfer"] == pytest.approx(1.3)
    assert found.waiting_s["apply"] == pytest.approx(12.7)
    assert sum(found.waiting_s.values()) == pytest.approx(60)


def test_the_split_of_the_waiting_sums_to_it_and_has_all_parts() -> None:
    found = measured(scenarios.two_slow_encoders(), 1)

    assert tuple(found.waiting_s) == PARTS
    assert sum(found.waiting_s.values()) == pytest.approx(35)


def test_on_one_machine_there_is_no_share_between_nodes_and_that_is_said() -> None:
    here = dict.fromkeys(("rank-0", "rank-1"), "here")
    found = measured(
        told(*(Did(rank, 0, "backward", 0, 8) for rank in here), *(Did(rank, 0, "allreduce", 8, 10) for rank in here),
             machines=here)
    )  # fmt: skip

    assert (found.comm_share, found.exposed_share, found.band) == (None, None, None)
    assert found.abstained == "no two workers are known to be on different machines"
    assert found.overlap == 0
    assert found.ratio == pytest.approx(0.25)


def test_without_transfers_or_compute_there_is_no_overlap_or_ratio() -> None:
    found = measured(told(Did("rank-0", 0, "train", 0, 10), Did("rank-1", 0, "train", 0, 10), machines=APART))
    assert (found.overlap, found.ratio, found.comm_share) == (None, 0, 0)
    found = measured(told(Did("rank-0", 0, "upload", 0, 10), Did("rank-1", 0, "upload", 0, 9), machines=APART))
    assert (found.overlap, found.ratio) == (0, None)
    nobody = measured(told(Did("coordinator", 0, "aggregate", 0, 10)))
    assert (nobody.abstained, nobody.band) == ("no trainer took part", None)
