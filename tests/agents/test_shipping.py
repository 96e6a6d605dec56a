"""From a training process to the server: whole, live, and whatever dies on the way."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from roundwatch import launch, leftovers, spool
from roundwatch.reader import RingReader
from roundwatch.streams import Stream
from roundwatch.syncing import sync
from tests.agents.collector import CLOCK_AHEAD_NS, Collector, Heard, until
from tests.agents.conftest import Site
from tests.agents.endless import ENDLESS, go_on, returned

TRAINING = """
import time, roundwatch
run = roundwatch.init("vit", run_id="r1", name="a run", config={"lr": 0.1}, rounds=2, tags=["a"], worker="w", rank=3)
for index in range(2):
    with run.round(index):
        with run.phase("train", items=32):
            time.sleep(0.05)
    run.log({"loss": 0.5})
"""


def kept(heard: Heard) -> list[int]:
    return [row["attrs"]["i"] for row in heard.phases("train") if row["state"] == "ok"]


def ended(collector: Collector) -> bool:
    return bool({"finish", "gone"} & set(collector.worker().turns()))


def finish_data(collector: Collector) -> dict[str, Any]:
    until(lambda: ended(collector), "the end is known")
    (data,) = [row["data"] for row in collector.worker().of("lifecycle") if row["what"] != "begin"]
    return data


def test_a_training_arrives_whole(site: Site, collector: Collector) -> None:
    site.shipper()
    site.run(TRAINING)
    until(lambda: ended(collector), "the end has arrived")
    heard = collector.worker()
    assert heard.whole()
    assert not heard.conflicts
    who = heard.identity
    assert (who["project"], who["run"], who["worker"], who["rank"], who["role"]) == ("vit", "r1", "w", 3, "trainer")
    begin = heard.of("lifecycle")[0]["data"]
    assert (begin["name"], begin["config"], begin["rounds"], begin["tags"]) == ("a run", {"lr": 0.1}, 2, ["a"])
    assert begin["conditions"]["cpus"] == os.cpu_count()
    first, second = heard.phases()
    assert (first["name"], first["kind"], first["round"], first["attrs"]) == ("train", "compute", 0, {"items": 32})
    assert second["round"] == 1
    assert [(row["round"], row["ended"]) for row in heard.of("round")] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [row["value"] for row in heard.of("sample") if row["metric"]["source"] == "training"] == [0.5, 0.5]
    assert set(collector.tokens) == {"Bearer token"}
    assert not heard.last["alive"]


def test_the_offset_to_the_server_is_known_before_the_first_record_is_sent(site: Site, collector: Collector) -> None:
    site.shipper()
    site.run(TRAINING)
    until(lambda: ended(collector), "the end has arrived")
    assert collector.requests[0]["batches"] == []
    for batch in (batch for request in collector.requests for batch in request["batches"]):
        assert batch["error_ns"] is not None
        assert abs(batch["offset_ns"] - CLOCK_AHEAD_NS) <= batch["error_ns"]


def test_an_open_phase_is_reported_each_second_with_its_progress(site: Site, collector: Collector) -> None:
    site.shipper()
    training = site.python("""
import roundwatch, signal
run = roundwatch.init("p")
with run.round(4), run.phase("train"), run.phase("forward"):
    run.progress(1, 4)
    signal.pause()
""")
    until(lambda: len(collector.worker().last.get("open", [])) == 2, "both phases are reported open")
    train, forward = collector.worker().last["open"]
    assert (forward["name"], forward["round"], forward["parent"]) == ("forward", 4, train["start"])
    until(lambda: collector.worker().last["open"][1]["progress"] == 0.25, "the progress arrives")
    seen: list[tuple[float, int]] = []

    def beats() -> bool:
        seen_ns = collector.worker().last["open_at_ns"]
        if not seen or seen[-1][1] != seen_ns:
            seen.append((time.monotonic(), seen_ns))
        return len(seen) > 3

    until(beats, "it goes on being reported")
    assert (seen[-1][1] - seen[0][1]) / 3 < 2e9
    assert collector.worker().last["alive"]
    assert collector.worker().last["count"] == 0
    training.kill()


def test_what_a_host_says_of_itself_and_of_its_processes_arrives(site: Site, collector: Collector) -> None:
    site.shipper()
    site.python("import roundwatch, signal; run = roundwatch.init('p'); signal.pause()")

    def memory() -> list[dict[str, Any]]:
        return [row for row in collector.worker().of("sample") if row["metric"]["name"] == "process_memory_bytes"]

    first, second = until(lambda: memory()[:2] if len(memory()) > 1 else None, "two readings of the process")
    assert first["value"] > 1 << 20
    assert 1.5e9 < second["time_ns"] - first["time_ns"] < 4e9
    assert collector.worker().whole()
    (host,) = [heard for heard in collector.streams.values() if heard.identity["kind"] == "host"]
    metrics = {row["metric"]["name"] for row in host.of("sample")}
    assert {"host_memory_bytes", "host_memory_total_bytes"} <= metrics
    assert host.identity["machine"] == collector.worker().identity["machine"]
    assert host.whole()


def test_init_starts_a_shipper_that_others_share_and_that_outlives_them(site: Site, collector: Collector) -> None:
    site.run(TRAINING)
    first = until(site.holder, "a shipper runs")
    site.run(TRAINING)
    until(lambda: len(collector.workers()) == 2 and all("finish" in w.turns() for w in collector.workers()), "both end")
    assert site.holder() == first


def test_a_shipper_stands_back_for_trainings_in_a_session_of_its_own(site: Site, collector: Collector) -> None:
    site.run(TRAINING)
    shipper = until(site.holder, "a shipper runs")
    assert os.getsid(shipper) == shipper
    assert os.getpriority(os.PRIO_PROCESS, shipper) >= 10
    grouped = Path(f"/proc/{shipper}/autogroup")
    if grouped.exists():
        assert grouped.read_text().split()[-1] == "10"


def test_a_shipper_leaves_when_nobody_has_written_for_a_while(site: Site, collector: Collector) -> None:
    shipper = site.shipper("--linger-s", "1")
    site.run(TRAINING)
    assert shipper.wait(20) == 0
    assert collector.worker().turns() == ["begin", "finish"]
    assert not list(site.rings.glob("*")) if site.rings.exists() else True
    assert [path for path in site.folder.iterdir() if path.is_dir()] == []


def test_a_second_shipper_of_the_same_destination_leaves_at_once(site: Site) -> None:
    site.shipper()
    first = site.holder()
    assert site.python("import sys; from roundwatch import shipper; sys.exit(shipper.main([]))").wait(20) == 0
    assert site.holder() == first


def test_files_are_for_this_user_alone_and_hold_no_token(site: Site, collector: Collector) -> None:
    site.environment["ROUNDWATCH_TOKEN"] = "s3cret-token"
    shipper = site.python("import sys; from roundwatch import shipper; sys.exit(shipper.main(['--stay']))")
    site.run(TRAINING)
    until(lambda: ended(collector), "the end has arrived")
    spool_folder = site.folder.parent
    paths = list(spool_folder.rglob("*"))
    assert any(path.suffix == ".open" for path in paths)
    for path in paths:
        assert path.stat().st_mode & 0o077 == 0, path
        assert path.is_dir() or b"s3cret" not in path.read_bytes()
    shipper.kill()


@pytest.mark.parametrize(
    ("ending", "state", "error"),
    [
        ("", "finished", None),
        ("run.finish('failed')", "failed", None),
        ("raise RuntimeError('out of memory')", "failed", "RuntimeError: out of memory"),
        ("raise KeyboardInterrupt", "killed", "KeyboardInterrupt: "),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "killed", None),
        ("import sys; sys.exit(3)", "finished", None),
    ],
)
def test_how_a_training_ends_is_said(
    site: Site, collector: Collector, ending: str, state: str, error: str | None
) -> None:
    site.shipper()
    site.python(f"import roundwatch\nrun = roundwatch.init('p')\n{ending}", "2>/dev/null").wait(20)
    data = finish_data(collector)
    assert (data["state"], data.get("error")) == (state, error)


def test_sigterm_does_what_it_does_without_us(site: Site) -> None:
    code = "import os, signal, roundwatch\nrun = roundwatch.init('p')\nos.kill(os.getpid(), signal.SIGTERM)"
    assert site.python(code).wait(20) == -signal.SIGTERM


def test_a_training_with_a_handler_of_its_own_goes_on_after_sigterm(site: Site, collector: Collector) -> None:
    site.shipper()
    site.run("""
import os, signal, roundwatch
signal.signal(signal.SIGTERM, lambda *_: None)
run = roundwatch.init("p")
os.kill(os.getpid(), signal.SIGTERM)
with run.phase("checkpoint"):
    pass
""")
    assert finish_data(collector)["state"] == "finished"
    assert [row["name"] for row in collector.worker().phases()] == ["checkpoint"]


def test_phases_that_are_open_at_the_end_are_aborted_innermost_first(site: Site, collector: Collector) -> None:
    site.shipper()
    training = site.python("""
import roundwatch, signal
run = roundwatch.init("p")
with run.round(1), run.phase("train", items=3), run.phase("forward"):
    print("open")
    signal.pause()
""")
    assert training.stdout is not None
    training.stdout.readline()
    until(lambda: collector.worker().last.get("open"), "the phases are reported open")
    training.kill()
    data = finish_data(collector)
    heard = collector.worker()
    assert heard.turns() == ["begin", "gone"]
    assert data["reason"]
    forward, train = heard.phases()
    assert (forward["name"], forward["state"], train["name"], train["state"]) == (
        "forward",
        "aborted",
        "train",
        "aborted",
    )
    assert train["attrs"] == {"items": 3}
    assert heard.whole()
    assert not heard.last["alive"]
    assert not heard.last["open"]


def test_a_forked_child_is_silent_and_ends_nothing(site: Site, collector: Collector) -> None:
    site.shipper()
    site.run("""
import os, roundwatch
run = roundwatch.init("p")
def use():
    with run.round(7), run.phase("data", x=1):
        run.log({"new name": 1.0})
        run.event("child")
for leave in (os._exit, exit):
    child = os.fork()
    if not child:
        use()
        leave(0)
    assert os.waitpid(child, 0)[1] == 0
with run.phase("train"):
    pass
""")
    assert finish_data(collector)["state"] == "finished"
    heard = collector.worker()
    assert [row["name"] for row in heard.phases()] == ["train"]
    assert "child" not in [row["name"] for row in heard.of("event")]
    assert not [row for row in heard.of("sample") if row["metric"]["name"] == "new name"]
    assert heard.whole()


def test_a_forked_child_may_begin_a_run_of_its_own(site: Site, collector: Collector) -> None:
    site.shipper()
    site.run("""
import os, roundwatch
run = roundwatch.init("p", run_id="r", worker="parent")
child = os.fork()
if not child:
    own = roundwatch.init("p", run_id="r", worker="child")
    with own.phase("train"):
        pass
    exit(0)
assert os.waitpid(child, 0)[1] == 0
""")
    until(lambda: sum("finish" in heard.turns() for heard in collector.workers()) == 2, "both have ended")
    child = next(heard for heard in collector.workers() if heard.identity["worker"] == "child")
    assert [row["name"] for row in child.phases()] == ["train"]


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_training_loses_nothing_whose_call_had_returned(
    site: Site, collector: Collector, tmp_path: Path, seed: int
) -> None:
    site.shipper()
    oracle = tmp_path / "oracle"
    training = site.python(ENDLESS, str(oracle))
    until(lambda: returned(oracle) > 100, "the training runs")
    threading.Event().wait(random.Random(seed).uniform(0, 0.3))  # noqa: S311 - a moment, not a secret
    training.kill()
    training.wait(10)
    until(lambda: "gone" in collector.worker().turns(), "its end is known")
    heard, count = collector.worker(), returned(oracle)
    assert kept(heard) in (list(range(count)), list(range(count + 1)))
    assert heard.whole()
    assert not heard.conflicts
    assert sum(row["count"] for row in heard.of("drop") if row) <= 1


def test_a_training_that_ends_just_after_its_shipper_was_killed_has_another_ship_its_end(
    site: Site, collector: Collector, tmp_path: Path
) -> None:
    oracle = tmp_path / "oracle"
    shipper = site.shipper()
    training = site.python(ENDLESS, str(oracle))
    go_on(oracle, 100)
    shipper.kill()
    shipper.wait(10)
    training.terminate()
    training.wait(10)
    assert finish_data(collector)["state"] == "killed"
    assert len(kept(collector.worker())) >= returned(oracle)


@pytest.mark.parametrize("seed", range(3))
def test_killed_shippers_lose_and_double_nothing(site: Site, collector: Collector, tmp_path: Path, seed: int) -> None:
    oracle = tmp_path / "oracle"
    moments = random.Random(seed)  # noqa: S311 - moments, not secrets
    training = site.python(ENDLESS, str(oracle))
    for _ in range(4):
        shipper = site.shipper()
        go_on(oracle, 100)
        threading.Event().wait(moments.uniform(0, 0.5))
        shipper.kill()
        shipper.wait(10)
        if other := site.holder():  # the training has started one of its own meanwhile
            os.kill(other, signal.SIGKILL)
            until(lambda: not site.holder(), "no shipper runs")
    site.shipper()
    training.terminate()
    until(lambda: "finish" in collector.worker().turns(), "the end has arrived")
    heard, count = collector.worker(), returned(oracle)
    until(lambda: len(kept(heard)) >= count, "everything has arrived")
    assert sorted(kept(heard)) in (list(range(count)), list(range(count + 1)))
    assert heard.whole()
    assert not heard.conflicts


def test_a_writer_starts_another_shipper_at_its_next_round(site: Site, collector: Collector, tmp_path: Path) -> None:
    training = site.python(ENDLESS, str(tmp_path / "oracle"))
    first = until(site.holder, "a shipper runs")
    os.kill(first, signal.SIGKILL)
    until(lambda: site.holder() not in (0, first), "another shipper runs")
    training.terminate()
    assert finish_data(collector)["state"] == "killed"


def test_nothing_is_lost_while_the_server_is_away_and_the_newest_comes_first(
    site: Site, collector: Collector, tmp_path: Path
) -> None:
    site.shipper()
    oracle = tmp_path / "oracle"
    training = site.python(ENDLESS, str(oracle))
    until(lambda: kept(collector.worker()), "records arrive")
    collector.stop()
    go_on(oracle, 6_000)
    collector.requests.clear()
    collector.start()
    until(lambda: kept(collector.worker()) and collector.requests, "the server hears again")
    batches = [batch for request in collector.requests for batch in request["batches"] if batch["count"]]
    worker = [batch for batch in batches if batch["identity"]["kind"] == "worker"]
    assert worker[0]["first"] + worker[0]["count"] - 1 == worker[0]["highest"]
    training.terminate()
    training.wait(10)
    until(lambda: len(kept(collector.worker())) >= returned(oracle), "everything has arrived")
    until(lambda: ended(collector) and collector.worker().whole(), "the hole is filled")
    assert not collector.worker().conflicts
    assert not collector.worker().of("drop")


ROUNDS_UNTIL_TOLD = """
import logging, sys, time
import roundwatch
told = []
logger = logging.getLogger("roundwatch")
logger.addFilter(lambda record: told.append(record) or True)
run = roundwatch.init("p", run_id="r")
deadline = time.monotonic() + 20
while not told and time.monotonic() < deadline:
    run.next_round()
    time.sleep(0.02)
for _ in range(50):
    run.next_round()
run.finish()
"""


def test_a_refused_token_is_said_once_in_the_trainings_own_log(site: Site, collector: Collector) -> None:
    collector.answers = lambda _: (401, {})
    site.shipper()
    kept = f"records are kept in {site.destination.spool}"
    message = f"roundwatch: the server refuses the token; {kept}; run `roundwatch doctor`"
    for code in (ROUNDS_UNTIL_TOLD, REFUSED_AT_THE_END):
        training = subprocess.run(
            [sys.executable, "-c", code], env=site.environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert training.stderr.splitlines()[1:] == [message]  # after the one line that says where it records to


def test_a_training_too_short_to_hear_of_a_refused_token_is_told_when_the_next_begins(
    site: Site, collector: Collector
) -> None:
    collector.answers = lambda _: (401, {})
    site.shipper()
    note = site.folder / launch.REFUSED
    until(note.exists, "the refusal is noted")
    told = site.run(f"import sys; sys.stderr = sys.stdout\n{TRAINING}")
    assert told.startswith("roundwatch: the server refuses the token; records are kept in ")
    collector.answers = lambda _: None
    os.kill(site.holder(), signal.SIGTERM)
    until(lambda: not site.holder(), "the shipper has left")
    site.shipper()
    until(lambda: not (site.folder / launch.REFUSED).exists(), "the note is gone")


def test_a_stream_that_was_refused_is_not_begun_again_by_the_next_shipper(site: Site, collector: Collector) -> None:
    shipper = site.shipper()
    training = site.python(
        "import roundwatch, time\nrun = roundwatch.init('p')\nwhile run.event('e') or True: time.sleep(0.01)"
    )
    stream = until(lambda: next((path.stem for path in site.rings.glob("*.ring")), ""), "a ring is there")
    collector.refused[stream] = "no"
    until(lambda: list((site.folder / "refused").glob(f"{stream}-*")), "it is set aside")
    ring = RingReader(site.rings / f"{stream}.ring")
    until(lambda: ring.silenced, "its training is told")
    ring.close()
    shipper.kill()
    shipper.wait(10)
    collector.requests.clear()
    site.shipper("--stay")
    until(lambda: len(collector.requests) > 3, "the next one is heard")
    assert stream not in {batch["stream"] for request in collector.requests for batch in request["batches"]}
    assert len(list((site.folder / "refused").iterdir())) == 1
    assert training.poll() is None


def test_rings_of_a_destination_that_is_used_no_more_leave_memory_for_the_disk(
    site: Site, collector: Collector, tmp_path: Path
) -> None:
    past = Site(tmp_path / "spool", "http://127.0.0.1:9")
    past.destination.prepare()
    alone = "from roundwatch import launch\nlaunch.Launcher._start_where_none_is = lambda _: None\n"
    past.python(alone + TRAINING + KILLED).wait(20)
    assert list(past.rings.glob("*.ring"))
    site.shipper()
    until(lambda: not list(past.rings.glob("*.ring")), "no ring of the other is left in memory")
    outcome = sync(past.folder.parent, collector.url, "token", keys=[past.folder.name])
    assert (outcome.left, outcome.trouble) == (0, "")
    assert [row["name"] for row in collector.worker().phases()] == ["train", "train"]
    assert collector.worker().turns() == ["begin", "gone"]
    past.close()


def test_tidying_that_fails_leaves_nothing_open_and_the_ring_where_it_is(
    offline: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline.destination.prepare()
    alone = "from roundwatch import launch\nlaunch.Launcher._start_where_none_is = lambda _: None\n"
    offline.python(alone + TRAINING + KILLED).wait(20)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(spool.Spool, "sync", fail)
    monkeypatch.setattr(Stream, "unsaved", 1)
    before = sorted(Path("/proc/self/fd").iterdir())
    leftovers.tidy(offline.rings, "boot")
    assert sorted(Path("/proc/self/fd").iterdir()) == before
    assert list(offline.rings.glob("*.ring"))


KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"

REFUSED_AT_THE_END = """
import time
import roundwatch
run = roundwatch.init("p", run_id="r")
deadline = time.monotonic() + 20
while not run._ring.refused() and time.monotonic() < deadline:
    time.sleep(0.02)
run.finish()
"""


def test_a_damaged_spool_costs_what_is_damaged_and_no_more(site: Site, collector: Collector, tmp_path: Path) -> None:
    collector.answers = lambda _: (503, {"Retry-After": "1"})
    shipper = site.shipper()
    oracle = tmp_path / "oracle"
    training = site.python(ENDLESS, str(oracle))
    until(lambda: returned(oracle) > 500, "the training runs")
    shipper.kill()
    shipper.wait(10)
    training.terminate()
    training.wait(10)
    if other := site.holder():
        os.kill(other, signal.SIGKILL)
        until(lambda: not site.holder(), "no shipper runs")
    (segment,) = [path for path in site.folder.glob("*/*.open") if path.stat().st_size > 20_000]
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    data[len(data) // 3 : len(data) // 3 + 300] = bytes(300)
    segment.write_bytes(data)
    (site.folder / ("f" * spool.STREAM_CHARS)).mkdir()
    (site.folder / ("f" * spool.STREAM_CHARS) / "000000000000000.open").write_bytes(b"nonsense" * 100)
    collector.answers = lambda _: None
    site.shipper()
    until(lambda: ended(collector) and collector.worker().whole(), "the stream is whole")
    heard = collector.worker()
    damaged = sum(row["count"] for row in heard.of("drop") if row.get("reason") == "damaged")
    assert 1 <= damaged <= 7
    phases = [row for row in heard.phases("train") if row["state"] == "ok"]
    assert returned(oracle) - len(phases) <= damaged
    assert sum("i" not in row["attrs"] for row in phases) <= 2  # only its text was damaged
    assert "gone" not in heard.turns()


def test_without_tmpfs_everything_arrives_through_private_memory(site: Site, collector: Collector) -> None:
    patch = "from roundwatch import folders\nfolders.tmpfs = lambda: None\n"
    shipper = f"{patch}import sys\nfrom roundwatch import shipper\nsys.exit(shipper.main([]))"
    site.python(shipper)
    until(site.holder, "the shipper holds its lock")
    site.run(patch + TRAINING)
    assert finish_data(collector)["state"] == "finished"
    assert collector.worker().whole()
    assert len(collector.worker().phases()) == 2
    until(lambda: not list((site.folder / "rings").iterdir()), "the link is gone")


def test_a_ring_that_makes_no_sense_is_set_aside_and_stops_nobody(site: Site, collector: Collector) -> None:
    site.destination.prepare()
    (site.rings / "nonsense.ring").write_bytes(b"nonsense" * 10_000)
    (site.rings / "short.ring").write_bytes(b"n")
    (site.rings / "dead.new").write_bytes(b"")
    site.shipper()
    site.run(TRAINING)
    assert finish_data(collector)["state"] == "finished"
    left = ["nonsense.bad", "short.bad"]
    until(lambda: sorted(path.name for path in site.rings.iterdir()) == left, "the rest is tidied up")


def test_a_shipper_whose_courier_fails_again_and_again_ends_and_says_so(site: Site) -> None:
    shipper = site.python("""
import sys
from roundwatch import courier, preparing, shipper
courier.LONGEST_PAUSE_S = 0.001
preparing.Preparer.hello = lambda self: 1 / 0
sys.exit(shipper.main(["--stay"]))
""")
    assert shipper.wait(20) == 1
