"""The command line: what each command does, says and answers, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch import cli
from roundwatch.cli import checks
from tests.agents.collector import Collector, collecting, until
from tests.agents.fakes.kernel import Kernel

TRAINING = """
    import roundwatch
    run = roundwatch.init(project="p")
    with run.round(0), run.phase("train"):
        print(run.id, flush=True)
"""

# Ends once there are two of its sort that have begun.
MEETING = """
    import os, pathlib, time
    import roundwatch
    run = roundwatch.init(project="p")
    place = pathlib.Path(os.environ["ROUNDWATCH_SPOOL"]).with_name(f"met {run.id}")
    place.mkdir(exist_ok=True)
    (place / str(os.getpid())).touch()
    deadline = time.monotonic() + 30
    while len(list(place.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
"""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A host where nothing is set but the spool."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROUNDWATCH_", "OMP_"))}
    return kept | {"ROUNDWATCH_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": os.pathsep.join(sys.path)}


def roundwatch(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roundwatch", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def to(collector: Collector) -> dict[str, str]:
    return {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t"}


def training(text: str = TRAINING) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(text)]


def test_help_lists_the_commands_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("agent", "run", "doctor", "sync"))
    assert cli.main([]) == 2


def test_an_unknown_command_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trian"]) == 2
    assert "'trian'" in capsys.readouterr().err


def test_only_the_command_that_is_asked_for_is_loaded(environment: dict[str, str]) -> None:
    heavy = "argparse", "http.client", "ssl", "roundwatch.run", "roundwatch.shipper"
    ask = f"import sys, roundwatch.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", ask], env=environment, text=True).strip() == "[]"


def test_a_token_file_that_cannot_be_read_is_refused(environment: dict[str, str]) -> None:
    answer = roundwatch("doctor", "--token-file", "/nonexistent/token", env=environment)
    assert answer.returncode == 2
    assert "/nonexistent/token" in answer.stderr


class TestRun:
    """roundwatch run -- CMD."""

    @pytest.mark.parametrize("code", [0, 3])
    def test_passes_the_exit_code_on(self, environment: dict[str, str], code: int) -> None:
        assert roundwatch("run", "--", "sh", "-c", f"exit {code}", env=environment).returncode == code

    def test_tells_a_command_that_a_signal_ended(self, environment: dict[str, str]) -> None:
        answer = roundwatch("run", "--", "sh", "-c", "kill -KILL $$", env=environment)
        assert answer.returncode == 128 + signal.SIGKILL

    def test_tells_a_command_that_is_not_there(self, environment: dict[str, str]) -> None:
        answer = roundwatch("run", "--", "no-such-command", env=environment)
        assert answer.returncode == 127
        assert "no-such-command" in answer.stderr

    def test_tells_a_command_that_is_no_program(self, environment: dict[str, str]) -> None:
        assert roundwatch("run", "--", "/dev/null", env=environment).returncode == 126

    def test_refuses_to_run_nothing(self, environment: dict[str, str]) -> None:
        assert roundwatch("run", env=environment).returncode == 2
        assert roundwatch("run", "--", env=environment).returncode == 2

    def test_leaves_the_commands_own_options_alone(self, environment: dict[str, str]) -> None:
        answer = roundwatch("run", "--run-id", "r", "--", "echo", "--run-id", "--", "x", env=environment)
        assert answer.stdout == "--run-id -- x\n"

    def test_sets_what_the_commands_processes_read(self, environment: dict[str, str]) -> None:
        show = "import json, os; print(json.dumps(dict(os.environ)))"
        answer = roundwatch(
            *("run", "--run-id", "r", "--site", "Rome", "--mode", "disabled"),
            *("--", sys.executable, "-c", show),
            env=environment,
        )
        seen = json.loads(answer.stdout)
        assert (seen["ROUNDWATCH_RUN_ID"], seen["ROUNDWATCH_SITE"]) == ("r", "Rome")
        assert seen["ROUNDWATCH_MODE"] == "disabled"
        assert "ROUNDWATCH_WORKER" not in seen

    def test_all_processes_of_a_command_are_one_run(self, environment: dict[str, str]) -> None:
        twice = ["sh", "-c", '"$@"; "$@"', "sh", *training()]
        first, second = roundwatch("run", "--mode", "offline", "--", *twice, env=environment).stdout.split()
        assert first == second

    def test_a_launcher_inside_the_command_knows_better(self, environment: dict[str, str]) -> None:
        slurm = environment | {"SLURM_JOB_ID": "4711"}
        assert roundwatch("run", "--mode", "offline", "--", *training(), env=slurm).stdout.strip() == "4711"

    def test_passes_sigterm_on(self, environment: dict[str, str]) -> None:
        waits = "import signal; signal.signal(15, lambda *_: exit(7)); print('up', flush=True); signal.pause()"
        process = subprocess.Popen(
            [sys.executable, "-m", "roundwatch", "run", "--mode", "disabled", "--", sys.executable, "-c", waits],
            env=environment,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == b"up\n"
            process.terminate()
            assert process.wait(20) == 7

    def test_everything_is_shipped_when_it_returns_and_nothing_runs_on(
        self, environment: dict[str, str], collector: Collector
    ) -> None:
        answer = roundwatch("run", "--", *training(), env=environment | to(collector))
        assert answer.returncode == 0
        heard = collector.worker()
        assert heard.identity["run"] == answer.stdout.strip()
        assert heard.turns() == ["begin", "finish"]
        assert [row["name"] for row in heard.phases()] == ["train"]
        assert heard.whole()
        assert shippers_of(environment["ROUNDWATCH_SPOOL"]) == []

    def test_says_what_waits_where_the_server_is_away(self, environment: dict[str, str], collector: Collector) -> None:
        nowhere = {"ROUNDWATCH_URL": "http://127.0.0.1:9", "ROUNDWATCH_TOKEN": "t"}
        answer = roundwatch("run", "--", *training(), env=environment | nowhere)
        assert answer.returncode == 0
        assert f"`roundwatch sync {environment['ROUNDWATCH_SPOOL']}` sends them" in answer.stderr
        assert "has not taken" not in roundwatch("run", "--", *training(), env=environment | to(collector)).stderr

    def test_processes_that_are_one_worker_are_told_so(self, environment: dict[str, str]) -> None:
        both = ["sh", "-c", 'RANK=0 "$@" & RANK=1 "$@" & wait', "sh", *training(MEETING)]
        answer = roundwatch("run", "--mode", "offline", "--", *both, env=environment)
        assert "another process records as worker 'trainer'" in answer.stderr
        apart = ["sh", "-c", 'ROUNDWATCH_WORKER=a "$@" & ROUNDWATCH_WORKER=b "$@" & wait', "sh", *training(MEETING)]
        assert "another process" not in roundwatch("run", "--mode", "offline", "--", *apart, env=environment).stderr


class TestAgent:
    """roundwatch agent."""

    def test_says_once_what_it_does(self, environment: dict[str, str], collector: Collector) -> None:
        command = [sys.executable, "-m", "roundwatch", "agent"]
        agents: list[subprocess.Popen[str]] = []
        try:
            for says in (f"ships to {collector.url} from {environment['ROUNDWATCH_SPOOL']}", "another one is at work"):
                env = environment | to(collector)
                agents.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True))
                assert agents[-1].stderr is not None
                assert says in agents[-1].stderr.readline()
                until(lambda: bool(collector.requests), "the first is at work")
        finally:
            for agent in agents:
                agent.terminate()
                agent.communicate(timeout=20)

    def test_samples_its_host_until_it_is_told_to_end(self, environment: dict[str, str], collector: Collector) -> None:
        agent = subprocess.Popen([sys.executable, "-m", "roundwatch", "agent"], env=environment | to(collector))
        try:
            until(lambda: "host_memory_bytes" in sampled(collector), "a sample of the host arrives")
        finally:
            agent.terminate()
        assert agent.wait(20) == 0
        [host] = [heard for heard in collector.streams.values() if heard.identity["kind"] == "host"]
        assert host.turns() == ["begin", "finish"]

    def test_will_not_begin_without_a_token(self, environment: dict[str, str]) -> None:
        answer = roundwatch("agent", env=environment | {"ROUNDWATCH_URL": "http://127.0.0.1:9"})
        assert answer.returncode == 2
        assert "ROUNDWATCH_TOKEN" in answer.stderr

    def test_will_not_begin_with_a_bad_url(self, environment: dict[str, str]) -> None:
        answer = roundwatch("agent", "--url", "ftp://x", env=environment | {"ROUNDWATCH_TOKEN": "t"})
        assert answer.returncode == 2
        assert "ROUNDWATCH_URL" in answer.stderr


class TestSync:
    """roundwatch sync DIR."""

    def test_ships_what_was_recorded_offline(self, environment: dict[str, str], collector: Collector) -> None:
        spool = environment["ROUNDWATCH_SPOOL"]
        assert (
            roundwatch("run", "--mode", "offline", "--", *training(), env=environment | to(collector)).returncode == 0
        )
        assert collector.requests == []
        answer = roundwatch("sync", spool, env=environment | to(collector))
        assert answer.returncode == 0, answer.stderr
        assert "0 refused, 0 left" in answer.stdout
        assert "without an answer it tries for a minute" in answer.stdout
        assert [row["name"] for row in collector.worker().phases()] == ["train"]

    def test_without_a_folder_it_ships_from_where_trainings_record(
        self, environment: dict[str, str], collector: Collector
    ) -> None:
        roundwatch("run", "--mode", "offline", "--", *training(), env=environment)
        answer = roundwatch("sync", env=environment | to(collector))
        assert answer.returncode == 0, answer.stderr
        assert f"streams in {environment['ROUNDWATCH_SPOOL']}: " in answer.stdout
        assert collector.worker().turns() == ["begin", "finish"]
        again = roundwatch("sync", env=environment | to(collector))
        assert f"0 streams in {environment['ROUNDWATCH_SPOOL']}: 0 records stored" in again.stdout
        assert "no spool" not in again.stdout

    def test_a_folder_that_is_no_spool_is_said_to_be_none(
        self, environment: dict[str, str], collector: Collector, tmp_path: Path
    ) -> None:
        answer = roundwatch("sync", str(tmp_path), env=environment | to(collector))
        assert f"{tmp_path} is no spool" in answer.stdout
        roundwatch("run", "--mode", "offline", "--", *training(), env=environment)
        [part] = Path(environment["ROUNDWATCH_SPOOL"]).iterdir()
        told = roundwatch("sync", str(part), env=environment | to(collector)).stdout
        assert f"give the spool, {part.parent}" in told
        assert not collector.workers()

    def test_says_when_something_is_left(self, environment: dict[str, str], collector: Collector) -> None:
        roundwatch("run", "--mode", "offline", "--", *training(), env=environment)
        collector.answers = lambda _: (401, {})
        answer = roundwatch("sync", environment["ROUNDWATCH_SPOOL"], env=environment | to(collector))
        assert answer.returncode == 1
        assert "401" in answer.stderr

    def test_what_was_recorded_for_a_replaced_token_is_listed_and_shipped_when_asked_for(
        self, environment: dict[str, str], collector: Collector
    ) -> None:
        spool, new = environment["ROUNDWATCH_SPOOL"], {"ROUNDWATCH_TOKEN": "new"}
        collector.answers = lambda _: (401, {})
        roundwatch("run", "--", *training(), env=environment | to(collector))
        collector.answers = lambda _: None
        [key] = [path.name for path in Path(spool).iterdir()]
        told = line(roundwatch("doctor", env=environment | to(collector) | new).stdout, f"waiting in {key}")
        assert "nobody ships them" in told
        assert f"sync {spool} --from {key}" in told
        untouched = roundwatch("sync", spool, env=environment | to(collector) | new)
        assert f"--from {key}" in untouched.stdout
        assert not collector.workers()
        answer = roundwatch("sync", spool, "--from", key, env=environment | to(collector) | new)
        assert answer.returncode == 0, answer.stderr
        assert f"from {key}, recorded for {collector.url}" in answer.stdout
        assert collector.worker().turns()[-1] == "finish"
        assert "waiting in" not in roundwatch("doctor", env=environment | to(collector) | new).stdout

    def test_refuses_a_folder_that_is_not_there(self, environment: dict[str, str], collector: Collector) -> None:
        answer = roundwatch("sync", "/nonexistent", env=environment | to(collector))
        assert answer.returncode == 2
        assert "/nonexistent" in answer.stderr

    def test_refuses_to_ship_to_nowhere(self, environment: dict[str, str], tmp_path: Path) -> None:
        answer = roundwatch("sync", str(tmp_path), env=environment)
        assert answer.returncode == 2
        assert "ROUNDWATCH_URL" in answer.stderr


class TestDoctor:
    """roundwatch doctor."""

    def test_a_host_without_a_server_is_told_so_and_that_is_no_fault(self, environment: dict[str, str]) -> None:
        answer = roundwatch("doctor", env=environment)
        assert answer.returncode == 0, answer.stdout
        assert line(answer.stdout, "server").startswith("warn")
        assert line(answer.stdout, "host_memory_bytes").startswith("ok")
        assert line(answer.stdout, "process_memory_bytes").startswith("ok")

    def test_a_server_that_takes_the_token_and_its_clock(
        self, environment: dict[str, str], collector: Collector
    ) -> None:
        answer = roundwatch("doctor", env=environment | to(collector))
        assert answer.returncode == 0, answer.stdout
        assert collector.url in line(answer.stdout, "server")
        assert "±" in line(answer.stdout, "clock")
        assert set(collector.tokens) == {"Bearer t"}
        assert collector.streams == {}

    def test_a_refused_token_is_a_fault(self, environment: dict[str, str], collector: Collector) -> None:
        collector.answers = lambda _: (401, {})
        answer = roundwatch("doctor", env=environment | to(collector))
        assert answer.returncode == 1
        assert "token is refused" in line(answer.stdout, "server")

    def test_what_the_shipper_said_last_is_shown(self, environment: dict[str, str], collector: Collector) -> None:
        assert "shipper.log" not in roundwatch("doctor", env=environment | to(collector)).stdout
        collector.answers = lambda _: (401, {})
        roundwatch("run", "--", *training(), env=environment | to(collector))
        told = line(roundwatch("doctor", env=environment | to(collector)).stdout, "shipper.log")
        assert told.startswith("warn")
        assert "the token is not accepted" in told

    def test_what_a_refused_token_may_lack_is_said(self, environment: dict[str, str], collector: Collector) -> None:
        collector.answers = lambda _: (401, {})
        assert "lacks the scope" in line(roundwatch("doctor", env=environment | to(collector)).stdout, "server")

    def test_a_token_that_was_not_filled_in_is_a_fault(self, environment: dict[str, str], collector: Collector) -> None:
        answer = roundwatch("doctor", env=environment | to(collector) | {"ROUNDWATCH_TOKEN": "rw_…"})
        assert answer.returncode == 1
        assert "holds characters that no token has" in line(answer.stdout, "token")

    def test_a_server_that_is_not_there_is_a_fault(self, environment: dict[str, str]) -> None:
        nowhere = {"ROUNDWATCH_URL": "http://127.0.0.1:9", "ROUNDWATCH_TOKEN": "t"}
        answer = roundwatch("doctor", env=environment | nowhere)
        assert answer.returncode == 1
        assert "refused" in line(answer.stdout, "server")

    @pytest.mark.parametrize("missing", ["ROUNDWATCH_TOKEN", "ROUNDWATCH_URL"])
    def test_half_a_destination_is_said(self, environment: dict[str, str], collector: Collector, missing: str) -> None:
        half = {name: value for name, value in to(collector).items() if name != missing}
        assert missing in roundwatch("doctor", env=environment | half).stdout

    def test_a_spool_that_cannot_be_written_is_a_fault(self, environment: dict[str, str]) -> None:
        answer = roundwatch("doctor", "--spool", "/proc/spool", env=environment)
        assert answer.returncode == 1
        assert line(answer.stdout, "spool").startswith("bad")

    @pytest.mark.parametrize(
        ("cpu", "threads", "mark", "says"),
        [
            ("600000 100000", "", "warn", "6 CPUs, but 32 visible, 32 threads"),
            ("600000 100000", "4", "ok", "4 threads by OMP_NUM_THREADS"),
            ("max 100000", "", "ok", "none is set"),
        ],
    )
    def test_a_quota_below_the_threads_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: str, threads: str, mark: str, says: str
    ) -> None:
        kernel = Kernel(tmp_path)
        kernel.process("self", cpus="0-31")
        kernel.proc("self/cgroup", "0::/\n")
        kernel.mounts("/ /sys/fs/cgroup cgroup2 rw")
        kernel.sys("fs/cgroup/cpu.max", f"{cpu}\n")
        for name in checks.THREADS:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        [found] = checks.cpu_lines(kernel.paths)
        assert found.mark == mark
        assert says in found.text

    def test_without_access_to_cgroups_no_quota_is_claimed_to_be_none(self, tmp_path: Path) -> None:
        kernel = Kernel(tmp_path)
        kernel.process("self", cpus="0-31")
        [found] = checks.cpu_lines(kernel.paths)
        assert found.mark == "none"
        assert "throttled time: no cgroup of this controller is visible" in found.text


def sampled(collector: Collector) -> set[str]:
    with collector.lock:
        return {row["metric"]["name"] for heard in collector.streams.values() for row in heard.of("sample")}


def line(output: str, subject: str) -> str:
    words = subject.split()
    [found] = [text.strip() for text in output.splitlines() if text.split()[1 : 1 + len(words)] == words]
    return found


def shippers_of(spool: str) -> list[str]:
    """The processes that have this spool in their environment."""
    return [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and f"ROUNDWATCH_SPOOL={spool}\0".encode() in environment_of(entry)
    ]


def environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
