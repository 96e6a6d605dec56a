"""Who a process is: what launchers say, what a person sets, and which of them is believed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roundwatch import identity, launchers, wire
from roundwatch.cli import checks

TORCHRUN = {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": "job-7"}
SLURM_STEP = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "3",
    "SLURM_STEP_NUM_TASKS": "16",
}


def test_torchrun_tells_run_and_ranks() -> None:
    found = identity.find(environment=TORCHRUN)
    assert (found.run_id, found.run_found) == ("job-7", True)
    assert (found.rank, found.local_rank, found.world_size) == (5, 1, 8)
    assert found.worker == "rank-5"


def test_torchruns_default_id_is_none_at_all(tmp_path: Path) -> None:
    found = identity.find(environment=TORCHRUN | {"TORCHELASTIC_RUN_ID": "none"}, proc=tmp_path)
    assert (found.run_id, found.run_found) == (None, False)
    assert found.rank == 5
    [doubt] = found.doubts
    assert "'none'" in doubt


# A rank as torchrun starts it, in a shell of its own, which torchrun's --no-python may put between.
RANK = "import roundwatch.identity as i; found = i.find(); print(found.run_id, found.run_found, found.worker)"
LAUNCH = f"""
import os, subprocess, sys
for rank in ("0", "1"):
    environment = os.environ | {{"RANK": rank, "LOCAL_RANK": sys.argv[1] or rank, "TORCHELASTIC_RUN_ID": "none"}}
    subprocess.run(["sh", "-c", f"{{sys.executable}} -c '{RANK}'; :"], env=environment, check=True)
"""


def launched(*, local_rank: str = "") -> list[list[str]]:
    """What two ranks that one process starts find: run, whether it was found, and worker."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "ROUNDWATCH_"))}
    environment = kept | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LAUNCH, local_rank]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return [line.split() for line in told.splitlines()]


def test_ranks_that_were_given_no_id_are_one_run_by_the_process_that_started_them() -> None:
    first, second = launched(), launched()
    assert [worker for _, _, worker in first] == ["rank-0", "rank-1"]
    assert {found for _, found, _ in first} == {"True"}
    assert len({run for run, _, _ in first}) == 1
    assert len({run for run, _, _ in first + second}) == 2, "the next launch is another run"


SPAWNED = """
import multiprocessing, os
def rank(number):
    os.environ |= {"RANK": number, "LOCAL_RANK": number}
    import roundwatch.identity
    os.write(1, f"{roundwatch.identity.find().run_id} ".encode())
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=rank, args=(number,)) for number in "01"]
    for each in ranks: each.start()
    for each in ranks: each.join()
"""


def test_ranks_that_run_a_function_of_one_process_are_one_run(tmp_path: Path) -> None:
    file = tmp_path / "spawned.py"
    file.write_text(SPAWNED)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "ROUNDWATCH_"))}
    environment = kept | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True)
    first, second = ran.stdout.split()
    assert first == second
    assert first.startswith("launch-")


def test_a_local_rank_that_is_0_everywhere_tells_nobody_apart() -> None:
    assert [worker for _, _, worker in launched(local_rank="0")] == ["rank-0", "rank-1"]


def test_a_rank_without_a_local_rank_is_some_other_programs_and_that_is_said() -> None:
    found = identity.find(environment={"RANK": "5", "WORLD_SIZE": "8"})
    assert (found.rank, found.world_size) == (None, None)
    assert found.worker == "trainer"
    assert found.doubts == ("RANK=5 without LOCAL_RANK is not believed: it may be the node's number",)


def test_each_replica_group_of_torchft_has_a_rank_0_of_its_own_in_one_run() -> None:
    group = {name: value for name, value in TORCHRUN.items() if name != "TORCHELASTIC_RUN_ID"} | {"RANK": "0"}
    first = group | {"REPLICA_GROUP_ID": "0", "TORCHELASTIC_RUN_ID": "a"}
    second = group | {"REPLICA_GROUP_ID": "1", "TORCHELASTIC_RUN_ID": "b"}
    job = {"SLURM_JOB_ID": "4711"}
    found = [identity.find(environment=job | each) for each in (first, second)]
    assert [each.worker for each in found] == ["replica-0/rank-0", "replica-1/rank-0"]
    assert [each.group for each in found] == ["replica-0", "replica-1"]
    assert {each.run_id for each in found} == {"4711"}, "torchrun's id is its group's alone"
    assert found[0].doubts == ()
    alone = identity.find(environment=first)
    assert (alone.run_id, alone.doubts) == ("a", (launchers.NO_COMMON_ID,))
    assert identity.find(environment=first, run_id="job").doubts == ()
    assert identity.find(environment=first, group="mine").worker == "mine/rank-0"
    assert identity.find(environment=first, role="coordinator").worker == "coordinator"


POD = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "RANK": "5",
    "LOCAL_RANK": "1",
    "WORLD_SIZE": "8",
    "LOCAL_WORLD_SIZE": "4",
}


@pytest.mark.parametrize(
    ("pod", "run"),
    [
        ({"HOSTNAME": "vit-h-node-0-3", "JOB_COMPLETION_INDEX": "3"}, "research/vit-h-node-0"),
        ({"HOSTNAME": "vit-h-worker-0"}, "research/vit-h"),
        ({"HOSTNAME": "vit-h-master-0"}, "research/vit-h"),
        ({"HOSTNAME": "vit-h-7c9d", "JOB_COMPLETION_INDEX": "3"}, None),
        ({"HOSTNAME": "vit-h-worker-0", "LOCAL_WORLD_SIZE": "8"}, None),  # a torchrun of one pod is a run of its own
        ({"HOSTNAME": "vit-h-worker-0", "TORCHELASTIC_RUN_ID": "named"}, "named"),
    ],
)
def test_pods_of_one_job_are_one_run_where_torchrun_gives_no_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pod: dict[str, str], run: str | None
) -> None:
    (tmp_path / "namespace").write_text("research")
    monkeypatch.setattr(launchers, "NAMESPACE", tmp_path / "namespace")
    found = identity.find(environment=POD | pod, proc=tmp_path)
    assert (found.run_id, found.worker) == (run, "rank-5")


def test_hosts_without_a_common_id_are_told_so() -> None:
    several = TORCHRUN | {"TORCHELASTIC_RUN_ID": "none", "LOCAL_WORLD_SIZE": "4"}
    assert launchers.NO_COMMON_ID in identity.find(environment=several).doubts
    assert launchers.NO_COMMON_ID in identity.find(environment=several | {"ROUNDWATCH_LAUNCH_ID": "l"}).doubts
    assert launchers.NO_COMMON_ID not in identity.find(environment=several | {"ROUNDWATCH_RUN_ID": "r"}).doubts
    assert launchers.NO_COMMON_ID not in identity.find(environment=several | {"LOCAL_WORLD_SIZE": "8"}).doubts


def test_doctor_tells_what_was_found_and_from_where(tmp_path: Path) -> None:
    def told(environment: dict[str, str]) -> dict[str, str]:
        return {line.subject: line.text for line in checks.identity_lines(environment, tmp_path)}

    lines = told(SLURM_STEP | TORCHRUN | {"REPLICA_GROUP_ID": "2", "ROUNDWATCH_SITE": "Berlin"})
    assert lines["run"] == "4711 (from SLURM_JOB_ID)"
    assert lines["worker"] == "replica-2/rank-5 (from its rank)"
    assert lines["rank"] == "5 of 8, number 1 on its host (from RANK beside LOCAL_RANK)"
    assert lines["group"] == "replica-2 (from REPLICA_GROUP_ID)"
    assert lines["site"] == "Berlin (from ROUNDWATCH_SITE)"
    assert "boot id" in lines["machine"]
    lines = told({"RANK": "1", "ROUNDWATCH_RUN_ID": "mine"})
    assert lines["run"] == "mine (from ROUNDWATCH_RUN_ID)"
    assert lines["worker"] == "trainer (from its role)"
    assert "RANK=1 without LOCAL_RANK" in lines["not believed"]


def test_slurm_step_tells_run_and_ranks() -> None:
    found = identity.find(environment=SLURM_STEP)
    assert (found.run_id, found.run_found) == ("4711", True)
    assert (found.rank, found.local_rank, found.world_size) == (3, 3, 16)


def test_slurms_batch_script_is_in_the_job_but_has_no_rank() -> None:
    batch = {name: value for name, value in SLURM_STEP.items() if name != "SLURM_STEP_ID"}
    found = identity.find(environment=batch | {"SLURM_PROCID": "0"})
    assert found.run_id == "4711"
    assert found.rank is None


def test_torchrun_within_slurm_gives_the_ranks_and_the_job_the_run() -> None:
    found = identity.find(environment=SLURM_STEP | TORCHRUN | {"TORCHELASTIC_RUN_ID": "none"})
    assert found.run_id == "4711"
    assert (found.rank, found.local_rank, found.world_size) == (5, 1, 8)


def test_ranks_of_two_launchers_are_never_mixed() -> None:
    only_rank = {"RANK": "5", "LOCAL_RANK": "1"}
    assert identity.find(environment=SLURM_STEP | only_rank).world_size is None


def test_a_bare_process_has_no_run_and_its_role_as_name() -> None:
    found = identity.find(environment={})
    assert (found.run_id, found.run_found, found.rank, found.site) == (None, False, None, None)
    assert found.worker == "trainer"


def test_what_a_person_sets_wins_over_the_launcher_and_is_not_called_found() -> None:
    set_by_hand = {"ROUNDWATCH_RUN_ID": "mine", "ROUNDWATCH_WORKER": "left", "ROUNDWATCH_SITE": "Berlin"}
    found = identity.find(environment=TORCHRUN | set_by_hand)
    assert (found.run_id, found.run_found, found.worker, found.site) == ("mine", False, "left", "Berlin")


def test_what_the_caller_gives_wins_over_everything() -> None:
    environment = TORCHRUN | {"ROUNDWATCH_RUN_ID": "mine", "ROUNDWATCH_WORKER": "left", "ROUNDWATCH_SITE": "Berlin"}
    found = identity.find(run_id="given", worker="right", site="Rome", rank=2, environment=environment)
    assert (found.run_id, found.run_found, found.worker, found.site) == ("given", False, "right", "Rome")
    assert found.rank == 2
    assert found.local_rank is None, "the launcher's local rank belongs to its own rank"


def test_an_empty_variable_is_none() -> None:
    empty = dict.fromkeys(("ROUNDWATCH_RUN_ID", "ROUNDWATCH_WORKER", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"), " ")
    found = identity.find(environment=empty)
    assert (found.run_id, found.worker) == (None, "trainer")


@pytest.mark.parametrize("nonsense", ["", "-1", "x", "1.0", "²", " 1"])
def test_a_rank_that_is_no_number_is_absent(nonsense: str) -> None:
    assert identity.find(environment=TORCHRUN | {"RANK": nonsense}).rank is None


def test_a_group_is_part_of_the_name() -> None:
    assert identity.find(group="stage-1", environment=TORCHRUN).worker == "stage-1/rank-5"
    assert identity.find(group="stage-1", environment={}).worker == "stage-1/trainer"


def test_a_coordinator_started_as_task_0_is_not_taken_for_a_trainer() -> None:
    found = identity.find(role="coordinator", environment=SLURM_STEP | {"SLURM_PROCID": "0"})
    assert (found.worker, found.rank, found.run_id) == ("coordinator", None, "4711")
    assert identity.find(role="coordinator", rank=0, environment={}).worker == "rank-0"


def test_roundwatch_run_gives_an_id_only_where_no_launcher_does() -> None:
    launched = {"ROUNDWATCH_LAUNCH_ID": "l-1"}
    assert identity.find(environment=launched).run_id == "l-1"
    assert identity.find(environment=launched).run_found
    assert identity.find(environment=launched | SLURM_STEP).run_id == "4711"


def test_processes_of_one_machine_agree_on_it_and_it_does_not_show_the_boot_id() -> None:
    ask = [sys.executable, "-c", "from roundwatch import identity; print(identity.machine())"]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run(ask, capture_output=True, text=True, check=True, env=os.environ | path).stdout.strip()
    mine = identity.machine()
    assert mine == other
    assert len(mine) == 16
    assert set(mine) <= set("0123456789abcdef")
    assert mine not in identity.BOOT_ID.read_text().replace("-", "")


def test_without_boot_ids_machines_are_told_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_boot_id = identity.machine()
    monkeypatch.setattr(identity, "BOOT_ID", tmp_path / "absent")
    assert identity.machine() != with_boot_id
    assert identity.machine() == identity.machine()


def test_what_the_environment_says_is_made_to_fit_instead_of_refused() -> None:
    said = {
        "ROUNDWATCH_SITE": "s" * 200,
        "ROUNDWATCH_WORKER": "a\udcffb",
        "TORCHELASTIC_RUN_ID": "j" * 127 + "\0x",
        "LOCAL_RANK": "0",
        "RANK": str(1 << 31),
        "WORLD_SIZE": "9" * 5_000,
    }
    found = identity.find(environment=said)
    for name in (found.site, found.worker, found.run_id, found.host):
        assert name is not None
        assert wire.name_fault(name) is None
    assert found.worker == "a\N{REPLACEMENT CHARACTER}b"
    assert (found.rank, found.local_rank, found.world_size) == (None, None, None)


def test_names_that_are_too_long_stay_different() -> None:
    names = {identity.find(group="g" * 128, rank=rank, environment={}).worker for rank in range(10)}
    assert len(names) == 10
    assert all(wire.name_fault(name) is None for name in names)
