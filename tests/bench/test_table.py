"""What a row says of a promise, and that every benchmark is told of."""

import math
from pathlib import Path

import pytest

from tests.bench.__main__ import BENCHES
from tests.bench.table import Row, median_ratio, number, percentile, show


def test_a_figure_beside_a_reference_is_judged_by_its_ratio() -> None:
    assert Row(name="a", ours=10, reference=9.95, most=1.01).met is True
    assert Row(name="a", ours=10, reference=9.8, most=1.01).met is False
    assert Row(name="a", ours=10, reference=9.8, ratio=1.005, most=1.01).met is True


def test_a_figure_alone_is_judged_by_itself() -> None:
    assert (Row(name="a", ours=60, most=60).met, Row(name="a", ours=60.1, most=60).met) == (True, False)
    assert (Row(name="a", ours=0.95, least=0.95).met, Row(name="a", ours=0.94, least=0.95).met) == (True, False)


def test_what_could_not_be_measured_does_not_hold_and_what_was_not_promised_is_not_judged() -> None:
    assert Row(name="a", ours=math.nan, most=1).met is False
    assert Row(name="a", ours=math.nan, least=1).met is False
    assert Row(name="a", ours=1).met is None


def test_a_missed_promise_is_seen_in_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show([Row(name="memory", ours=70, unit="MiB", most=60), Row(name="rate", ours=1234.5, reference=2000, least=0.5)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["memory", "70.00", "MiB", "<=", "60", "NO"]
    assert lines[2] == ["rate", "1,234", "2,000", "0.6172", ">=", "0.5", "yes"]


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile(range(1, 1001), 0.999) == 999
    assert (percentile([7], 0.999), percentile([1, 2], 0)) == (7, 1)


def test_ratios_are_those_of_what_was_measured_together() -> None:
    assert median_ratio([(2, 1), (30, 10), (1, 1)]) == 2
    assert number(0.0832) == "0.0832"


def test_the_readme_tells_of_every_benchmark() -> None:
    readme = (Path(__file__).parent / "README.md").read_text()
    assert [name for name in BENCHES if f"| `{name}` |" not in readme] == []
