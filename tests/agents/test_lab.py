"""Scenarios of the lab: what they hold, that they arrive exactly, and what the command says and refuses."""

import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roundwatch import wire
from roundwatch.lab import study_run
from roundwatch.lab.catalogue import scenarios
from roundwatch.lab.composing import Composer
from roundwatch.lab.playing import Player, Wishes
from roundwatch.lab.shapes import Act, Did, Read, Scenario, Who
from roundwatch.lab.telling import NotTakenError, Teller
from tests.agents.collector import Collector, Heard, collecting, now_ns, until

EVERY = scenarios()


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def seconds(act: Act, name: str) -> dict[str, float]:
    return {did.worker: round(did.end_s - did.begin_s, 6) for did in act.phases if did.name == name}


def event(act: Act, name: str, worker: str = "coordinator") -> float:
    return next(one.at_s for one in act.events if (one.name, one.worker) == (name, worker))


def wall(act: Act) -> float:
    return max(end for _, end in act.part.values()) - min(begin for begin, _ in act.part.values())


def play(scenario: Scenario, collector: Collector, speed: float = float("inf"), **more: Any) -> Player:
    teller = Teller(collector.url, "t", patience_s=1)
    player = Player(scenario, teller, Wishes(project="lab", run="r", speed=speed, **more))
    try:
        player.play()
    finally:
        teller.close()
    return player


def told(heard: Heard) -> Counter[tuple[object, ...]]:
    """Phases as (name, round, kind, milliseconds), samples and events of one stream."""
    found = [(row["name"], row["round"], row["kind"], round(row["duration_ns"] / 1e6)) for row in heard.phases()]
    found += [(row["metric"]["name"], row["value"]) for row in heard.of("sample")]
    return Counter([*found, *((row["name"], row["round"]) for row in heard.of("event"))])


def expected(scenario: Scenario, worker: str) -> Counter[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for index, act in enumerate(scenario.acts()):
        mine = [did for did in act.phases if did.worker == worker]
        found += [(did.name, index, kind_of(did), round((did.end_s - did.begin_s) * 1e3)) for did in mine]
        found += [(read.metric, read.value) for read in act.reads if read.worker == worker]
        found += [(one.name, index) for one in act.events if one.worker == worker]
        end = max(end for _, end in act.part.values())
    return Counter([*found, *((read.metric, read.value) for read in scenario.after(end) if read.worker == worker)])


def kind_of(did: Did) -> str:
    return wire.KINDS[did.kind_number]


def untriggered(name: str) -> Scenario:
    return replace(EVERY[name], failures={})


def test_in_round_four_of_run_six_two_hosts_of_one_machine_encode_as_long_as_was_published() -> None:
    acts = EVERY["run-6"].acts()
    encode = seconds(acts[4], "encode")
    others = [each for host, each in encode.items() if host not in study_run.SLOW]

    assert sorted(each for host, each in encode.items() if host in study_run.SLOW) == [17.8, 18.0]
    assert (len(others), min(others), max(others)) == (14, 1.5, 2.3)
    assert set(seconds(acts[4], "upload").values()) == {1.0}
    machines = Counter(who.machine for who in EVERY["run-6"].workers)
    assert [machine for machine, count in machines.items() if count > 1] == ["machine-06"]
    assert all(max(seconds(act, "encode").values()) <= 2.3 for index, act in enumerate(acts) if index != 4)


def test_in_run_six_the_last_host_is_synchronised_after_thirteen_seconds_and_near_the_hosts_after_three() -> None:
    scenario = EVERY["run-6"]
    lasted = []
    for act in scenario.acts():
        last = max(one.at_s for one in act.events if one.name == "synchronised")
        lasted.append(round(last - event(act, "sync start"), 6))

    assert lasted == [13.0, 13.0, 13.0, 13.0, 13.0, 3.0, 3.0]
    assert [who.site for who in scenario.workers if who.role == "coordinator"] == ["Germany"]
    assert {index: [who.site for who in moved] for index, moved in scenario.moved.items()} == {5: ["datacentre"]}


def test_the_dry_run_has_every_published_figure_within_its_range_and_meets_both_ends() -> None:
    acts = EVERY["dry-run"].acts()
    prepared = [one + seconds(act, "upload")[host] for act in acts for host, one in seconds(act, "prepare").items()]
    started = [round(event(act, "sync start") - event(act, "aggregated"), 6) for act in acts]

    assert {each for act in acts for each in seconds(act, "train").values()} == {48.0}
    assert (min(prepared), max(prepared)) == pytest.approx((17.8, 22.3))
    assert {each for act in acts for each in seconds(act, "upload").values()} == {0.7}
    assert [seconds(act, "aggregate")["coordinator"] for act in acts] == [3.4, 2.9]
    assert started == [22.6, 23.4]
    assert [seconds(act, "save")["coordinator"] for act in acts] == [14.0, 15.0]
    applied = [each for act in acts for each in seconds(act, "apply").values()]
    assert (min(applied), max(applied)) == (9.8, 14.5)
    loaded = [each for act in acts for each in seconds(act, "download").values()]
    assert (min(loaded), max(loaded)) == (0.5, 0.7)
    assert [wall(act) - 48.0 for act in acts] == pytest.approx([60.0, 60.0], abs=0.5)


def test_the_dry_runs_coordinator_is_sampled_every_two_seconds_and_keeps_memory_after_its_end() -> None:
    scenario = EVERY["dry-run"]
    acts = scenario.acts()
    reads = [read for act in acts for read in act.reads]
    after = scenario.after(acts[-1].next_s)
    floors = [act.reads[-1].value for act in acts]

    assert max(read.value for read in reads) == pytest.approx(34.4 * 2**30)
    assert max(read.value for read in reads) / (scenario.model_bytes or 0) == pytest.approx(14.8, abs=0.05)
    assert {round(later.at_s - one.at_s, 6) for one, later in itertools.pairwise(after)} == {2.0}
    assert after[-1].at_s - acts[-1].next_s > 60
    assert min(read.value for read in after) - floors[0] > (scenario.model_bytes or 0)


def test_the_follow_up_starts_its_syncs_within_ten_seconds_saves_nothing_and_keeps_nothing() -> None:
    scenario = EVERY["follow-up"]
    acts = scenario.acts()

    assert all(event(act, "sync start") - event(act, "aggregated") < 10 for act in acts)
    assert not [did for act in acts for did in act.phases if did.name == "save"]
    hosts = [who for who in scenario.workers if who.role == "trainer"]
    assert (len(hosts), len({who.machine for who in hosts})) == (2, 1)
    floors = [act.reads[-1].value for act in acts]
    after = scenario.after(acts[-1].next_s)
    assert max(*floors, *(read.value for read in after)) - floors[0] < 0.1 * (scenario.model_bytes or 0)
    dry = [read.value for act in EVERY["dry-run"].acts() for read in act.reads]
    assert max(read.value for act in acts for read in act.reads) < max(dry) / 2


@pytest.mark.parametrize("name", EVERY)
def test_no_worker_is_in_two_phases_of_a_thread_at_once_and_all_lie_within_its_part(name: str) -> None:
    for act in EVERY[name].acts():
        reached: dict[tuple[str, int], float] = {}
        for did in sorted(act.phases, key=lambda did: (did.begin_s, did.end_s)):
            begin, end = act.part[did.worker]
            assert begin <= did.begin_s < did.end_s <= end
            if did.inside is None:
                assert did.begin_s >= reached.get((did.worker, did.thread), 0) - 1e-9
                reached[did.worker, did.thread] = did.end_s
            else:
                around = act.phases[did.inside]
                assert around.worker == did.worker
                assert around.begin_s <= did.begin_s < did.end_s <= around.end_s


@pytest.mark.parametrize("name", EVERY)
def test_a_scenario_arrives_exactly_as_history(name: str, collector: Collector) -> None:
    scenario = untriggered(name)

    play(scenario, collector)

    streams: dict[str, list[Heard]] = {}
    for heard in collector.workers():
        assert heard.whole()
        assert heard.conflicts == []
        assert heard.last["open"] == []
        assert heard.turns() == ["begin", "finish"]
        streams.setdefault(heard.identity["worker"], []).append(heard)
    assert set(streams) == {who.name for who in scenario.workers}
    for who in scenario.workers:
        assert sum((told(heard) for heard in streams[who.name]), Counter()) == expected(scenario, who.name)
        first = streams[who.name][0].identity
        assert (first["host"], first["role"], first["site"]) == (who.machine, who.role, who.site)
        rounds = [row["round"] for heard in streams[who.name] for row in heard.of("round") if row["ended"]]
        assert rounds == list(range(scenario.rounds))


def test_history_lies_in_the_past_and_ends_when_it_was_asked_to(collector: Collector) -> None:
    play(untriggered("dry-run"), collector, ago_s=7200.0)

    ends = [row["time_ns"] for heard in collector.workers() for row in heard.of("sample")]
    assert (now_ns() - max(ends)) / 1e9 == pytest.approx(7200, abs=60)


def test_who_is_moved_begins_anew_as_the_same_worker(collector: Collector) -> None:
    play(EVERY["run-6"], collector)

    lives = [heard.identity for heard in collector.workers() if heard.identity["worker"] == "coordinator"]
    assert [(one["site"], one["host"]) for one in lives] == [
        ("Germany", "coordinator"),
        ("datacentre", "coordinator-2"),
    ]
    assert lives[0]["began_unix_ns"] < lives[1]["began_unix_ns"]
    rounds = [[row["round"] for row in heard.of("round") if row["ended"]] for heard in collector.workers()]
    assert rounds[0] == [0, 1, 2, 3, 4]
    assert rounds[-1] == [5, 6]


def short(failures: dict[str, tuple[str, float]] | None = None) -> Scenario:
    """Two workers, two rounds of three seconds; when x has failed, data takes half a second longer."""

    def make(index: int, begin_s: float, failing: frozenset[str]) -> Act:
        made = Composer(begin_s)
        for name in ("rank-0", "rank-1"):
            made.phase(name, "data", 0.5 + (0.5 if "x" in failing else 0.0))
            made.phase(name, "train", 2.5)
        return made.act()

    workers = tuple(Who(name=f"rank-{rank}", machine="m", rank=rank) for rank in range(2))
    return Scenario(
        name="short", about="", workers=workers, rounds=3, make=make, failures=failures or {},
        after=lambda end_s: (Read("rank-0", "late", 1.0, end_s + 1),),
    )  # fmt: skip


def test_played_faster_phases_are_seen_open_and_last_as_long_as_ever(collector: Collector) -> None:
    scenario = short()

    play(scenario, collector, speed=8.0)

    for heard in collector.workers():
        assert heard.whole()
        assert heard.conflicts == []
        assert told(heard) == expected(scenario, heard.identity["worker"])
    seen = {one["name"] for request in collector.requests for batch in request["batches"] for one in batch["open"]}
    assert seen == {"data", "train"}
    before = [request for request in collector.requests if any(batch["open"] for batch in request["batches"])]
    assert not any(
        row["name"] == "late" for request in before for batch in request["batches"] for row in batch["metrics"]
    )


def test_from_a_round_on_what_was_before_is_told_at_once_and_the_rest_as_it_happens(collector: Collector) -> None:
    scenario = short()

    play(scenario, collector, speed=8.0, since=2)

    seen = [
        (one["name"], one["round"])
        for request in collector.requests
        for batch in request["batches"]
        for one in batch["open"]
    ]
    assert {index for _, index in seen} == {2}
    for heard in collector.workers():
        assert heard.whole()
        assert told(heard) == expected(scenario, heard.identity["worker"])
    ends = [row["begin_ns"] + row["duration_ns"] for heard in collector.workers() for row in heard.phases()]
    assert abs(now_ns() - max(ends)) < 5e9


def test_a_failure_comes_by_itself_or_when_it_is_triggered(collector: Collector) -> None:
    by_time, by_key = short({"x": ("data waits", 3.0)}), short({"x": ("data waits", 1e9)})

    def data_ms(player_triggers: frozenset[str], scenario: Scenario) -> list[int]:
        teller = Teller(collector.url, "t")
        Player(scenario, teller, Wishes(project="p", run="r", speed=50.0), lambda: player_triggers).play()
        teller.close()
        return [round(row["duration_ns"] / 1e6) for row in collector.workers()[-1].phases("data")]

    assert data_ms(frozenset(), by_time) == [500, 1000, 1000]
    assert data_ms(frozenset(), by_key) == [500, 500, 500]
    assert data_ms(frozenset("x"), by_key) == [1000, 1000, 1000]


def test_a_server_that_comes_back_gets_everything_and_nothing_twice(collector: Collector) -> None:
    answers = iter([None, (503, {}), None, (429, {"Retry-After": "1"})])
    collector.answers = lambda _: next(answers, None)
    scenario = untriggered("quorum")
    teller = Teller(collector.url, "t")

    Player(scenario, teller, Wishes(project="p", run="r", speed=float("inf"))).play()
    teller.close()

    assert all(heard.whole() and not heard.conflicts for heard in collector.workers())
    assert teller.records == sum(len(heard.records) for heard in collector.workers())


def test_a_run_that_was_deleted_or_refused_meanwhile_is_said_so(collector: Collector) -> None:
    collector.take = lambda batch: {"stream": batch["stream"], "status": "deleted", "missing": [], "rejected": 0}

    with pytest.raises(NotTakenError, match="the run is gone"):
        play(short(), collector)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Without any setting of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROUNDWATCH_")}
    return kept | {"PYTHONPATH": os.pathsep.join(sys.path)}


def lab(*arguments: str, env: dict[str, str], keys: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roundwatch", "lab", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60, input=keys)


def test_the_command_lists_plays_and_tells_what_was_stored(collector: Collector, environment: dict[str, str]) -> None:
    listed = lab(env=environment)
    played = lab(
        "dry-run", "--history", "--run-id", "mine",
        env=environment | {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t"},
    )  # fmt: skip

    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines() if not line.startswith(" ")] == list(EVERY)
    assert (played.returncode, played.stderr) == (0, "")
    assert played.stdout.splitlines()[0].endswith(f"on {collector.url}; without an answer it tries for a minute")
    records = sum(len(heard.records) for heard in collector.workers())
    assert played.stdout.splitlines()[-1] == f"{records} records stored of run mine in project lab"
    assert {(heard.identity["run"], heard.identity["project"]) for heard in collector.workers()} == {("mine", "lab")}


def test_a_key_on_standard_input_triggers_its_failure(collector: Collector, environment: dict[str, str]) -> None:
    there = {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t"}

    played = lab("four-gpus", "--speed", "100", env=environment | there, keys="d")

    assert played.returncode == 0, played.stderr
    assert "triggered: data loading of rank-2 waits" in played.stdout
    (rank,) = [heard for heard in collector.workers() if heard.identity["worker"] == "rank-2"]
    assert min(row["duration_ns"] for row in rank.phases("data")) > 0.8e9


def test_an_interrupt_ends_all_workers_as_killed(collector: Collector, environment: dict[str, str]) -> None:
    there = {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t"}
    command = [sys.executable, "-m", "roundwatch", "lab", "mixed"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts behind it ignores it
    playing = subprocess.Popen(command, env=environment | there, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    signal.signal(signal.SIGINT, before)
    try:
        until(lambda: any(heard.last["open"] for heard in collector.workers()), "a phase is open")
        playing.send_signal(signal.SIGINT)
        assert playing.wait(20) == 130
    finally:
        playing.kill()
        playing.wait()

    ends = [heard.of("lifecycle")[-1] for heard in collector.workers()]
    assert [(end["what"], end["data"]) for end in ends] == [("finish", {"state": "killed"})] * 9


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no-such"], "there is no scenario 'no-such'; there are run-6, dry-run"),
        (["run-6", "--speed", "0.5"], "--speed is from 1 to 1000, not 0.5"),
        (["run-6", "--speed", "nan"], "--speed is from 1 to 1000, not nan"),
        (["run-6", "--ago", "3"], "--ago is for --history"),
        (["run-6", "--from", "7"], "--from is a round from 0 to 6, and not for --history"),
        (["run-6", "--from", "2", "--history"], "--from is a round from 0 to 6, and not for --history"),
        (["run-6", "--history", "--ago", "-1"], "--ago is a number of hours, not -1"),
        (["run-6", "--url", "nowhere"], "ROUNDWATCH_URL must look like https://host"),
        (["run-6", "--url", "http://127.0.0.1:9"], "ROUNDWATCH_TOKEN is not set; the server's page 'Connect a run'"),
        (["run-6", "--run-id", "x" * 129], "--run-id: a name is longer than 128 characters"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    arguments: list[str], told: str, environment: dict[str, str]
) -> None:
    refused = lab(*arguments, env={"ROUNDWATCH_URL": "http://127.0.0.1:9", **environment})

    assert refused.returncode == 2
    assert refused.stderr.startswith(f"roundwatch lab: {told}")
    assert len(refused.stderr.splitlines()) == 1


def test_what_is_not_set_is_named(environment: dict[str, str]) -> None:
    refused = lab("run-6", env=environment)

    said = "ROUNDWATCH_URL and ROUNDWATCH_TOKEN are not set; the server's page 'Connect a run' tells both"
    assert (refused.returncode, refused.stderr) == (2, f"roundwatch lab: {said}\n")


def test_a_token_that_is_not_accepted_is_told_at_once(collector: Collector, environment: dict[str, str]) -> None:
    collector.answers = lambda _: (401, {})

    refused = lab("run-6", env=environment | {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t"})

    assert refused.returncode == 1
    assert refused.stderr == "roundwatch lab: the token is not accepted\n"
