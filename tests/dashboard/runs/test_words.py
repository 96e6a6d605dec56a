"""Figures as people read them, and the pictures in words and points."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.runs.pictures import BAR_WIDTH, CURVE_HEIGHT, CURVE_WIDTH, bar, curve
from dashboard.runs.words import ago, duration, figure, findings, gpus, percent, seconds
from ingest.models import Run
from ingest.queries.run_list import NewestFinding, RecentRound, RunRow
from tests.dashboard.runs_of import kinds


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"), (0.0, "0 ms"), (0.000199, "199 µs"), (0.0009994, "999 µs"), (0.0009996, "1 ms"),
        (0.0214, "21.4 ms"), (0.0994, "99.4 ms"), (0.0996, "0.10 s"), (0.61, "0.61 s"),
        (9.994, "9.99 s"), (9.996, "10.0 s"), (52.34, "52.3 s"), (99.96, "1 min 40 s"), (412.4, "6 min 52 s"),
        (3725.0, "1 h 02 min"),
    ],
)  # fmt: skip
def test_seconds_have_three_digits_and_a_unit_and_become_minutes(value: float | None, words: str) -> None:
    assert plain(seconds(value)) == words


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (0, "< 1 s"), (0.9, "< 1 s"), (9.67, "9 s"), (45, "45 s"), (99.97, "99 s"), (216, "3 min 36 s"),
        (3599, "59 min 59 s"), (3600, "1 h 00 min"), (11_100, "3 h 05 min"),
        (183_600, "2 d 03 h"), (-5, "< 1 s"),
    ],
)  # fmt: skip
def test_durations_grow_in_their_units(span: float, words: str) -> None:
    assert plain(duration(timedelta(seconds=span))) == words


@pytest.mark.parametrize(
    ("age_s", "words"),
    [(-60, "just now"), (9, "just now"), (45, "45 s ago"), (359, "5 min ago"), (7200, "2 h ago"), (259_200, "3 d ago"),
     (31 * 86_400, "29 Jan 2026")],
)  # fmt: skip
def test_ages_have_one_unit_and_become_dates(age_s: float, words: str) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert plain(ago(now - timedelta(seconds=age_s), now)) == words


def test_a_share_that_is_not_known_is_no_zero() -> None:
    assert (percent(None), plain(percent(0.0)), plain(percent(0.586))) == ("–", "0 %", "59 %")


def rounds(*walls: float) -> list[RecentRound]:
    return [RecentRound(index, wall_s, None, None) for index, wall_s in enumerate(walls)]


def test_a_curve_rises_with_the_wall_time_inside_its_frame() -> None:
    drawn = curve(rounds(10.0, 30.0, 20.0), flagged={1})
    assert drawn is not None
    places = [tuple(map(float, point.split(","))) for point in drawn.points.split()]
    assert all(0 <= x <= CURVE_WIDTH and 0 <= y <= CURVE_HEIGHT for x, y in places)
    assert places[1][1] < places[2][1] < places[0][1]  # upwards is less y
    assert drawn.marks == [places[1]]


def test_noise_is_drawn_flat_and_one_round_not_at_all() -> None:
    calm = curve(rounds(100.0, 101.0, 99.0), flagged=())
    assert calm is not None
    heights = [float(point.split(",")[1]) for point in calm.points.split()]
    assert max(heights) - min(heights) < 2
    assert curve(rounds(100.0), flagged=()) is None


def test_a_bar_leaves_unexplained_time_empty_and_never_overflows() -> None:
    drawn = bar(kinds(compute=0.5, encode=0.25))
    assert drawn is not None
    assert [(part.kind, part.x, part.width) for part in drawn.parts] == [
        ("compute", 0.0, BAR_WIDTH / 2), ("encode", BAR_WIDTH / 2, BAR_WIDTH / 4)
    ]  # fmt: skip
    assert plain(drawn.says) == "compute 50 %, encode 25 %"
    full = bar(kinds(compute=0.9, wait=0.2))
    assert full is not None
    assert full.parts[-1].x + full.parts[-1].width == pytest.approx(BAR_WIDTH, abs=0.02)
    assert bar(None) is None


@pytest.mark.parametrize(
    ("kind", "phase", "words"),
    [
        ("interval_failed", "to sync", "1 open: check failed: to sync"),
        ("interval_failed", "", "1 open: check failed"),
        ("straggler", "encode", "1 open: slow encode"), ("worker_lost", "", "1 open: worker lost"),
    ],
)  # fmt: skip
def test_no_colon_is_left_where_no_phase_follows(kind: str, phase: str, words: str) -> None:
    assert findings(RunRow(Run(), open_findings=1, finding=NewestFinding(kind, phase, "warning", ""))) == words


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        (["NVIDIA A40"], "16 × A40"),
        (["NVIDIA H100 80GB HBM3"], "16 × H100"),
        (["NVIDIA A100-SXM4-80GB", "Tesla T4"], "16 × A100 and others"),
        (["NVIDIA GeForce RTX 4090"], "16 × RTX 4090"),
        (["AMD Instinct MI300X"], "16 × MI300X"),
        (["NVIDIA"], "16 × NVIDIA"),
        (["\u202eodd"], "16 × odd"),
    ],
)
def test_devices_are_called_by_their_model(devices: list[str], said: str) -> None:
    assert plain(gpus(Run(trainers=16, devices=devices))) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "–"), (0.0, "0.00"), (0.069, "0.07"), (1.84, "1.8"), (98.8, "98.8"), (12_345.6, "12,346")],
)
def test_a_figure_has_the_digits_that_count(value: float | None, said: str) -> None:
    assert figure(value) == said
