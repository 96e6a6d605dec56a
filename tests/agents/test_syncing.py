"""Offline trainings record to the spool alone, and `sync` ships what they left, once."""

import shutil
from pathlib import Path

import pytest

from roundwatch import launch, syncing
from roundwatch.shipper import sync
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site

TRAINING = """
import roundwatch
run = roundwatch.init("p", run_id="r", mode="offline")
for index in range(3):
    with run.round(index), run.phase("train", i=index):
        pass
"""


def spooled(site: Site) -> bool:
    """Whether the shipper has written the end of every training to disk."""
    return not list(site.rings.glob("*.ring")) and bool(list(site.folder.glob("*/*.seg")))


def test_an_offline_training_is_shipped_by_sync_whole_and_once(offline: Site, collector: Collector) -> None:
    offline.shipper()
    offline.run(TRAINING)
    until(lambda: spooled(offline), "everything is on disk")
    outcome = sync(offline.folder.parent, collector.url, "token")
    assert not outcome.trouble
    heard = collector.worker()
    assert heard.whole()
    assert heard.turns() == ["begin", "finish"]
    assert [row["attrs"]["i"] for row in heard.phases()] == [0, 1, 2]
    assert outcome.stored == sum(len(each.records) for each in collector.streams.values())
    assert (outcome.refused, outcome.left) == (0, 0)
    assert outcome.streams == len(collector.streams)
    assert sync(offline.folder.parent, collector.url, "token").stored == 0
    assert not [path for path in offline.folder.iterdir() if path.is_dir()]


def test_without_a_url_a_training_records_offline_and_says_so_once(offline: Site, collector: Collector) -> None:
    code = TRAINING.replace(', mode="offline"', "")
    output = offline.run("import logging, sys; logging.basicConfig(stream=sys.stdout)" + code)
    assert output.count("ROUNDWATCH_URL is not set") == 1
    assert len(output.splitlines()) == 1
    sync(offline.folder.parent, collector.url, "token")
    assert collector.worker().turns() == ["begin", "finish"]


def test_a_training_that_is_told_to_record_offline_says_where(offline: Site) -> None:
    output = offline.run("import logging, sys; logging.basicConfig(stream=sys.stdout)" + TRAINING)
    assert output.strip().endswith(f"recording offline to {offline.folder.parent} (`roundwatch sync` sends it)")
    assert len(output.splitlines()) == 1


PASSING = """
import os, signal, sys
from roundwatch import locks
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
print(locks.take(fd, passing=True), flush=True)
signal.pause()
"""


def test_sync_does_not_end_a_shipper_of_another_destination_that_tidies_there(
    offline: Site, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "HAND_OVER_S", 0.3)
    offline.destination.prepare()
    passing = offline.python(PASSING, str(offline.folder / launch.LOCK))
    assert passing.stdout is not None
    assert passing.stdout.readline() == "True\n"
    assert "another shipper is at work" in sync(offline.folder.parent, collector.url, "token").trouble
    assert passing.poll() is None


def test_sync_takes_what_a_killed_shipper_left_in_rings(offline: Site, collector: Collector) -> None:
    shipper = offline.shipper()
    training = offline.python(TRAINING + "\nimport signal; print('ready'); signal.pause()")
    assert training.stdout is not None
    training.stdout.readline()
    shipper.kill()
    shipper.wait(10)
    training.kill()
    training.wait(10)
    outcome = sync(offline.folder.parent, collector.url, "token")
    assert not outcome.trouble
    assert collector.worker().whole()
    assert collector.worker().turns() == ["begin", "gone"]
    assert len(collector.worker().phases()) == 3


def test_a_spool_that_was_moved_is_shipped_from_where_it_lies(
    offline: Site, collector: Collector, tmp_path: Path
) -> None:
    shipper = offline.shipper("--linger-s", "1")
    offline.run(TRAINING)
    assert shipper.wait(20) == 0
    shutil.move(offline.folder.parent, tmp_path / "stick")
    assert not sync(tmp_path / "stick", collector.url, "token").trouble
    assert collector.worker().turns() == ["begin", "finish"]


def test_what_was_recorded_for_another_server_stays_where_it_is(
    site: Site, collector: Collector, tmp_path: Path
) -> None:
    collector.answers = lambda _: (503, {})
    shipper = site.shipper("--linger-s", "1")
    site.run(TRAINING.replace(', mode="offline"', ""))
    assert shipper.wait(20) == 0
    collector.answers = lambda _: None
    assert sync(site.folder.parent, collector.url, "another-token").streams == 0
    other = sync(site.folder.parent, "http://127.0.0.1:1", "token", patience_s=0.1)
    assert other.streams == 0
    assert [(part.path, part.server) for part in other.others] == [(site.folder, collector.url)]
    assert not collector.workers()
    assert not sync(site.folder.parent, collector.url, "token").trouble
    assert collector.worker().turns() == ["begin", "finish"]


@pytest.mark.parametrize("named", [True, False])
def test_what_was_recorded_for_a_replaced_token_is_shipped_when_that_is_asked_for(
    site: Site, collector: Collector, *, named: bool
) -> None:
    collector.answers = lambda _: (401, {})
    shipper = site.shipper("--linger-s", "1")
    site.run(TRAINING.replace(', mode="offline"', ""))
    assert shipper.wait(20) == 0
    collector.answers = lambda _: None
    keys = [site.folder.name] if named else []
    outcome = sync(site.folder.parent, collector.url, "new-token", keys=keys, everything=not named)
    assert (outcome.trouble, outcome.left, outcome.others) == ("", 0, [])
    assert collector.tokens[-1] == "Bearer new-token"
    assert collector.worker().turns() == ["begin", "finish"]


def test_a_folder_that_is_asked_for_and_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no abc"):
        sync(tmp_path, "http://localhost", "token", keys=["abc"])


def test_what_cannot_be_shipped_is_counted_and_kept(offline: Site, collector: Collector) -> None:
    offline.shipper("--linger-s", "1").wait(20)
    shipper = offline.shipper("--linger-s", "1")
    offline.run(TRAINING)
    assert shipper.wait(20) == 0
    collector.answers = lambda _: (401, {})
    refused = sync(offline.folder.parent, collector.url, "token")
    assert "401" in refused.trouble
    assert refused.left > 10
    collector.stop()
    silent = sync(offline.folder.parent, collector.url, "token", patience_s=0.3)
    assert "no answer" in silent.trouble
    assert silent.left >= refused.left
    collector.answers = lambda _: None
    collector.start()
    assert not sync(offline.folder.parent, collector.url, "token").trouble
    assert collector.worker().whole()


def test_a_folder_or_address_that_is_none_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        sync(tmp_path / "none", "http://localhost", "token")
    with pytest.raises(ValueError, match="ROUNDWATCH_URL"):
        sync(tmp_path, "localhost", "token")
