"""What was sampled while a phase ran stands beside it: of its process, its machine and its own devices."""

import json
import time
from typing import Any

import numpy as np
import pytest

from dashboard.teams.models import Team
from ingest.models import Run
from ingest.queries.live_readings import over
from tests.cast import Cast, browser_of, make_cast
from tests.ingest.batches import SECOND, HostRecorder, Recorder
from tests.ingest.delivery import deliver

THROTTLED, SECONDS = "cgroup_cpu_throttled_ratio", "cgroup_cpu_throttled_seconds_total"


def told(metric: str, readings: dict[float, float], begin_s: float, end_s: float) -> dict[str, Any] | None:
    """`over` of readings by their second."""
    times = np.array([round(second * SECOND) for second in readings], np.int64)
    values = np.array(list(readings.values()), np.float64)
    found = over(metric, times, values, round(begin_s * SECOND), round(end_s * SECOND))
    names = ("count", "low", "high", "mean", "rise", "span_s", "age_s")
    return None if found is None else dict(zip(names, found, strict=True))


def test_a_share_since_the_reading_before_counts_by_the_time_that_it_covers_of_the_phase() -> None:
    found = told(THROTTLED, {8: 0.0, 10: 0.0, 12: 0.5, 14: 1.0, 16: 0.0}, 11, 14)
    assert found
    assert (found["count"], found["low"], found["high"], found["span_s"]) == (2, 0.5, 1.0, 4.0)
    assert found["mean"] == pytest.approx((0.5 * 1 + 1.0 * 2) / 3)


def test_a_reading_long_after_a_phase_says_nothing_of_it() -> None:
    assert told(THROTTLED, {20: 0.9}, 11, 14) is None
    assert told(THROTTLED, {}, 11, 14) is None
    assert told("process_memory_bytes", {14.5: 1.0}, 11, 14) is None


def test_a_counter_tells_what_it_rose_by_and_a_restarted_one_does_not_fall() -> None:
    found = told(SECONDS, {10: 100.0, 12: 103.0, 14: 1.0, 16: 3.5}, 10, 16)
    assert found
    assert found["rise"] == 5.5


def test_what_holds_until_told_otherwise_is_known_in_a_phase_without_a_reading() -> None:
    found = told("gpu_throttled_by_heat", {5: 1.0, 15: 0.0}, 8, 9)
    assert found
    assert (found["low"], found["high"], found["age_s"]) == (1.0, 1.0, None)


def test_what_changed_at_the_very_begin_of_a_phase_did_not_hold_in_it() -> None:
    found = told("gpu_throttled_by_heat", {6: 1.0, 8: 0.0}, 8, 9)
    assert found
    assert (found["count"], found["high"]) == (1, 0.0)


def test_a_moment_before_a_short_phase_is_told_with_its_age_and_never_beside_one_within() -> None:
    found = told("gpu_utilisation_ratio", {10: 1.0, 12: 0.1}, 11, 11.5)
    assert found
    assert (found["high"], found["age_s"]) == (1.0, 1.0)
    found = told("gpu_utilisation_ratio", {10: 1.0, 12: 0.1, 14: 0.3}, 11, 15)
    assert found
    assert (found["count"], found["high"], found["age_s"]) == (2, 0.3, None)


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


class Host:
    """A trainer whose `encode` took from second 4 to 12, and the shipper of its machine, sampled each two seconds."""

    def __init__(self, team: Team, machine: str = "m1", *, run: str = "run-1", worker: str = "trainer-0") -> None:
        self.team, self.began_ns = team, time.time_ns() - 60 * SECOND
        self.own = Recorder(worker, run=run, began_ns=self.began_ns, machine=machine)
        self.shipper = HostRecorder(began_ns=self.began_ns, machine=machine)
        self.start = self.own.next_number
        self.own.phase("encode", self.at(4), self.at(12), round=0)

    def at(self, seconds: float) -> int:
        return self.began_ns + round(seconds * SECOND)

    def sampled(self, metric: str, value: float, *, own: bool, device: str | None = None) -> "Host":
        for second in range(0, 20, 2):
            (self.own if own else self.shipper).sample(metric, value, self.at(second), device=device)
        return self

    def sent(self) -> "Host":
        deliver(self.team.pk, self.own.batch(), self.shipper.batch())
        return self


def beside(people: Cast, start: int, key: str = "run-1") -> dict[tuple[str, str], float]:
    """What the viewer is told of the first attempt's phase: mean by (metric, device)."""
    run = Run.objects.get(team=people.team, key=key)
    page = browser_of(people.viewer).get(f"/runs/{run.pk}/live/phase?attempt=0&start={start}", secure=False)
    answer = json.loads(page.content, parse_constant=lambda literal: pytest.fail(f"no browser reads {literal}"))
    assert answer["readings"]["settled"] is True
    return {(each["metric"], each["device"]): each["mean"] for each in answer["readings"]["over"]}


def test_a_phase_is_told_beside_its_process_and_its_machine_and_nobody_elses(people: Cast) -> None:
    host = Host(people.team).sampled(THROTTLED, 0.75, own=True).sampled("host_cpu_utilisation_ratio", 0.5, own=False)
    host.sampled("cgroup_cpu_quota_cpus", 99, own=False).sent()
    Host(people.team, "m2", worker="trainer-1").sampled("host_pressure_cpu_waiting_ratio", 1, own=False).sent()
    Host(people.other_team, "m1").sampled("host_pressure_io_waiting_ratio", 1, own=False).sent()
    assert beside(people, host.start) == {(THROTTLED, ""): 0.75, ("host_cpu_utilisation_ratio", ""): 0.5}


def test_of_a_machines_devices_those_count_on_which_the_process_had_memory(people: Cast) -> None:
    host = Host(people.team)
    for device, busy in (("GPU-a", 0.25), ("GPU-b", 1.0)):
        host.sampled("gpu_utilisation_ratio", busy, own=False, device=device)
    host.sent()
    assert set(beside(people, host.start).values()) == {0.25, 1.0}
    host.sampled("process_gpu_memory_bytes", 1 << 30, own=True, device="GPU-a").sent()
    assert beside(people, host.start) == {
        ("gpu_utilisation_ratio", "GPU-a"): 0.25, ("process_gpu_memory_bytes", "GPU-a"): 1 << 30,
    }  # fmt: skip


def test_readings_beyond_every_bound_leave_an_answer_that_can_be_read(people: Cast) -> None:
    host = Host(people.team).sampled("process_memory_bytes", 1.7e308, own=True).sampled(THROTTLED, 0.5, own=True).sent()
    assert beside(people, host.start)[THROTTLED, ""] == 0.5
