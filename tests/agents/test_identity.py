"""Who a process is: what launchers say, what a person sets, and which of them is believed."""

import os
import subprocess
import sys

import pytest

from roundwatch import identity, wire

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


def test_torchruns_default_id_is_none_at_all() -> None:
    found = identity.find(environment=TORCHRUN | {"TORCHELASTIC_RUN_ID": "none"})
    assert (found.run_id, found.run_found) == (None, False)
    assert found.rank == 5


def test_a_rank_without_a_local_rank_is_some_other_programs() -> None:
    found = identity.find(environment={"RANK": "5", "WORLD_SIZE": "8"})
    assert (found.rank, found.world_size) == (None, None)
    assert found.worker == "trainer"


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


def test_without_boot_ids_machines_are_told_by_name(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
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
