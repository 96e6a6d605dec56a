"""Exports are made in slices: what a slice that died has written is written again, and no two write into one file."""

import datetime as dt
from pathlib import Path

import pytest
from django.utils import timezone

from dashboard.runs.exports import making, pages, table_archive, trace
from ingest.models import Export, Run
from ingest.store import deletion, exports
from tests.cast import Cast
from tests.dashboard.runs.exports import exported_run as stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast) -> Run:
    return stage.make_run(cast.team)


@pytest.fixture
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few records to a page, and a page to a slice, that small runs take many."""
    for module in (pages, trace, table_archive):
        monkeypatch.setattr(module, "PAGE", 4)


def let_go(export: Export) -> None:
    """Its holder died a while ago."""
    Export.objects.filter(pk=export.pk).update(held_until=timezone.now() - dt.timedelta(seconds=1))


@pytest.mark.parametrize("form", ["perfetto", "csv", "parquet"])
def test_an_export_is_done_slice_by_slice_and_says_how_far_it_is(
    run: Run, form: str, short_slices: None, folder: Path, tmp_path: Path
) -> None:
    export = exports.ask(run, form, None)
    seen = []
    for _ in range(200):
        making.make_slice(export.pk, within_s=0)
        export.refresh_from_db()
        seen.append((export.records, export.state))
        if export.state == "done":
            break

    assert len(seen) > 5
    assert [records for records, _ in seen] == sorted(records for records, _ in seen)
    assert {state for _, state in seen[:-1]} == {"running"}
    assert export.records_total
    assert export.records_total >= export.records >= 28 + 2 + 10
    path = folder / str(export.pk)
    assert path.stat().st_size == export.file_bytes
    assert path.stat().st_mode & 0o777 == 0o600
    whole = stage.made(run, form, tmp_path / "whole")
    if form == "perfetto":
        assert stage.events(path.read_bytes()) == stage.events(whole)
    else:
        assert stage.files(path.read_bytes())
    assert timezone.now() + dt.timedelta(days=2) < (export.expires_at or timezone.now())


def test_what_a_slice_wrote_that_died_is_written_again(
    run: Run, short_slices: None, folder: Path, tmp_path: Path
) -> None:
    export = exports.ask(run, "csv", None)
    making.make_slice(export.pk, within_s=0)
    for _ in range(3):  # dies in the middle of a slice: the file has grown, and nobody says so
        assert exports.take(export.pk) is not None
        with (folder / str(export.pk)).open("ab") as file:
            file.write(b"half of something")
        assert exports.take(export.pk) is None  # as long as it may still be at work
        let_go(export)
    while Export.objects.get(pk=export.pk).state != "done":
        making.make_slice(export.pk, within_s=0)

    assert stage.files((folder / str(export.pk)).read_bytes()) == stage.files(stage.made(run, "csv", tmp_path / "csv"))


def test_an_export_whose_slices_do_not_get_on_fails_with_the_fifth(run: Run, folder: Path) -> None:
    export = exports.ask(run, "perfetto", None)
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where the folder should be")
    for tries in range(1, 6):
        making.make_slice(export.pk)
        export.refresh_from_db()
        assert (export.tries, export.state) == (tries, "failed" if tries == 5 else "running")
    assert "could not be written" in export.reason
    making.make_slice(export.pk)
    export.refresh_from_db()
    assert export.tries == 5


def test_an_export_whose_worker_dies_five_times_fails_and_says_so(run: Run) -> None:
    export = exports.ask(run, "perfetto", None)
    for _ in range(5):
        assert exports.take(export.pk) is not None
        let_go(export)
    assert exports.take(export.pk) is None
    export.refresh_from_db()
    assert (export.state, export.reason) == ("failed", "Whoever was making it died, five times.")


def test_a_slice_that_gets_on_is_a_new_beginning_for_tries(run: Run, short_slices: None) -> None:
    export = exports.ask(run, "perfetto", None)
    for _ in range(4):
        exports.take(export.pk)
        let_go(export)
    making.make_slice(export.pk, within_s=0)
    export.refresh_from_db()
    assert (export.tries, export.state, export.reason) == (0, "running", "")


def test_one_that_is_being_made_is_answered_instead_of_another_and_a_team_has_only_so_many(
    cast: Cast, run: Run
) -> None:
    first = exports.ask(run, "csv", cast.owner.pk)
    assert exports.ask(run, "csv", cast.viewer.pk).pk == first.pk
    for number in range(exports.MOST_WAITING - 1):
        exports.ask(stage.make_run(cast.team, workers=1, count=1, key=f"run-{number}-more"), "csv", None)
    with pytest.raises(exports.TooManyError):
        exports.ask(run, "parquet", None)
    making.make_slice(first.pk)
    assert exports.ask(run, "parquet", None).state == "waiting"


def test_files_go_with_their_time_and_with_their_run(run: Run, folder: Path) -> None:
    old, new = exports.ask(run, "csv", None), exports.ask(run, "parquet", None)
    for each in (old, new):
        making.make_slice(each.pk)
    (folder / "not of an export").write_text("")
    Export.objects.filter(pk=old.pk).update(expires_at=timezone.now())

    making.sweep()
    assert {path.name for path in folder.iterdir()} == {str(new.pk), "not of an export"}

    assert deletion.begin(run.pk)
    making.sweep()
    assert not Export.objects.exists()
    assert [path.name for path in folder.iterdir()] == ["not of an export"]


def test_a_run_deleted_while_it_is_exported_ends_that(
    run: Run, short_slices: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = exports.ask(run, "perfetto", None)
    making.make_slice(export.pk, within_s=0)
    deletion.begin(run.pk)
    making.make_slice(export.pk, within_s=0)
    making.sweep()
    assert list(folder.iterdir()) == []
