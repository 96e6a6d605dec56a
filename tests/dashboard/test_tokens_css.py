"""The colours of tokens.css: texts can be read, kinds differ by luminance, and both dark blocks agree."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from roundwatch.wire import KINDS

CSS = (Path(__file__).parents[2] / "dashboard/static/rw/tokens.css").read_text()
LIGHT, DARK_BY_SYSTEM, DARK_BY_CHOICE = (
    dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root[^{]*\{([^}]*)\}", CSS)
)
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK_BY_CHOICE], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """Relative luminance, 0..1 (WCAG 2.2, "relative luminance")."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio, 1..21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_dark_is_the_same_by_system_and_by_choice() -> None:
    assert DARK_BY_SYSTEM == DARK_BY_CHOICE
    assert LIGHT.keys() == DARK_BY_CHOICE.keys()


@THEMES
def test_every_text_has_enough_contrast_on_every_ground_it_stands_on(theme: dict[str, str]) -> None:
    grounds = {
        text: ["--bg", "--panel", "--raised"] for text in ("--text", "--muted", "--accent", "--bad", "--warn", "--good")
    }
    for text in ("bad", "warn", "good"):
        grounds[f"--{text}"].append(f"--{text}-soft")
    grounds["--muted"].append("--idle-soft")
    grounds["--text"] += ["--accent-soft", "--good-soft"]
    grounds["--accent-text"] = ["--accent-fill"]
    poor = {
        (text, ground): round(contrast(theme[text], theme[ground]), 2)
        for text, stands_on in grounds.items()
        for ground in stands_on
        if contrast(theme[text], theme[ground]) < 4.5
    }
    assert not poor


@THEMES
def test_kinds_form_a_ladder_of_luminance(theme: dict[str, str]) -> None:
    ladder = sorted(luminance(theme[f"--kind-{kind}"]) for kind in KINDS)
    assert all(high - low > 0.008 for low, high in pairwise(ladder)), ladder
