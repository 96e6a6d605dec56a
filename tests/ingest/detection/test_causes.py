"""Hypotheses for slow workers: what all of them have and few of their peers, and nothing where that is not known."""

import pytest

from ingest.detection.causes import NOTHING, UNKNOWN, Facts, causes
from ingest.detection.facts import Worker


def worker(name: str, machine: str = "") -> Worker:
    return Worker(lane=0, name=name, machine=machine, host=machine)


def asked(slow: list[Facts], peers: list[Facts], machine: str = "") -> tuple[list[str], str]:
    found, why = causes(
        [(worker(f"slow-{n}", machine), facts) for n, facts in enumerate(slow)],
        [(worker(f"peer-{n}", f"other-{n}"), facts) for n, facts in enumerate(peers)],
    )
    return [cause.name for cause in found], why


def test_the_studys_slow_encoders_share_a_machine_and_see_more_threads_than_their_quota() -> None:
    slow = Facts(quota_cores=4, threads=64, throttled=0.6)
    found, why = causes(
        [(worker("rank-6", "node-3"), slow), (worker("rank-7", "node-3"), slow)],
        [(worker(f"rank-{n}", f"node-{n}"), Facts(quota_cores=32, threads=32, throttled=0.0)) for n in range(3)],
    )

    assert [cause.text for cause in found] == [
        "Both run on one physical machine (node-3), which none of the others uses.",
        "Their CPU quota throttled them for 60% of the phase.",
        "Their quota is 4 CPUs, but 64 threads were in use.",
    ]
    assert why == ""


@pytest.mark.parametrize(
    ("slow", "healthy", "name"),
    [
        (Facts(throttled=0.1), Facts(throttled=0.09), "throttled"),
        (Facts(pressure=0.2), Facts(pressure=0.19), "pressure"),
        (Facts(clock=0.79), Facts(clock=0.8), "clock"),
        (Facts(temperature_c=85), Facts(temperature_c=84.9), "temperature"),
        (Facts(faults=100), Facts(faults=99), "page faults"),
        (Facts(link_share=0.5), Facts(link_share=1.0), "link"),
        (Facts(quota_cores=2, threads=3), Facts(quota_cores=3, threads=3), "quota"),
    ],
)
def test_each_fact_explains_from_its_threshold_on(slow: Facts, healthy: Facts, name: str) -> None:
    assert asked([slow], [healthy] * 3) == ([name], "")
    assert asked([healthy], [healthy] * 3) == ([], NOTHING)


@pytest.mark.parametrize(
    ("less", "more", "told"),
    [
        (Facts(throttled=0.2), Facts(throttled=0.6), "60%"),
        (Facts(pressure=0.3), Facts(pressure=0.5), "50%"),
        (Facts(clock=0.7), Facts(clock=0.4), "40%"),
        (Facts(temperature_c=86), Facts(temperature_c=95), "95 °C"),
        (Facts(faults=200), Facts(faults=900), "900 major"),
        (Facts(link_share=0.5), Facts(link_share=0.25), "25%"),
        (Facts(quota_cores=2, threads=3), Facts(quota_cores=4, threads=64), "64 threads"),
    ],
)
def test_of_several_slow_ones_the_gravest_is_told(less: Facts, more: Facts, told: str) -> None:
    for slow in ([less, more], [more, less]):
        ((cause,), _) = causes([(worker(f"slow-{n}"), facts) for n, facts in enumerate(slow)], [])
        assert told in cause.text


def test_what_half_of_the_peers_have_too_explains_nothing() -> None:
    slow, fine = Facts(throttled=0.5), Facts(throttled=0)

    assert asked([slow], [slow, fine]) == ([], NOTHING)
    assert asked([slow], [slow, fine, fine]) == (["throttled"], "")
    # Peers of whom it is not known do not count.
    assert asked([slow], [slow, fine, Facts(), Facts()]) == ([], NOTHING)
    assert asked([slow], [Facts()]) == (["throttled"], "")


def test_what_is_not_known_of_one_of_the_slow_explains_nothing() -> None:
    assert asked([Facts(throttled=0.5), Facts(pressure=0.1)], [Facts(throttled=0)]) == ([], NOTHING)
    assert asked([Facts(), Facts()], [Facts(throttled=0)]) == ([], UNKNOWN)


def test_two_on_one_device_are_named() -> None:
    assert asked([Facts(device="gpu-a"), Facts(device="gpu-a")], [Facts(device="gpu-b")]) == (["device"], "")
    assert asked([Facts(device="gpu-a")], [Facts(device="gpu-b")]) == ([], NOTHING)
    assert asked([Facts(device="gpu-a"), Facts(device="gpu-c")], [Facts(device="gpu-a")]) == ([], NOTHING)
