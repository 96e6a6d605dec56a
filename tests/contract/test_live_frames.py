"""The bytes of the live feed are what they were: another server version may be talking to this page."""

import json
from typing import Any

import numpy as np
import pytest

from dashboard.live.frames import encode, merge, parse
from ingest.feed.frames import COLUMNS, OPEN_END, Cursor, FrameType, decode
from tests.contract.scenes import GOLDEN, SCENES, said


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_makes_its_golden_bytes(name: str) -> None:
    assert SCENES[name]() == (GOLDEN / f"{name}.bin").read_bytes()


@pytest.mark.parametrize("name", SCENES)
def test_golden_bytes_say_what_is_written_beside_them(name: str) -> None:
    assert said((GOLDEN / f"{name}.bin").read_bytes()) == json.loads((GOLDEN / f"{name}.json").read_text())


def test_every_type_of_frame_has_golden_bytes() -> None:
    assert {frame["type"] for name in SCENES for frame in _told(name)} == {kind.name for kind in FrameType}


@pytest.mark.parametrize("name", SCENES)
def test_decoding_gives_times_in_unix_nanoseconds_and_the_other_columns_as_sent(name: str) -> None:
    frames = decode((GOLDEN / f"{name}.bin").read_bytes())
    assert [kind.name for kind, _ in frames] == [frame["type"] for frame in _told(name)]
    for (kind, found), told in zip(frames, _told(name), strict=True):
        assert str(found["epoch"]) == told["epoch"]
        assert found.get("json") == told.get("json")
        for column, form in COLUMNS.get(kind, ()):
            np.testing.assert_allclose(np.ravel(found[column]), _wide(told, column, form), rtol=1e-7)


@pytest.mark.parametrize("name", [name for name in SCENES if name != "begin_anew"])
def test_what_is_merged_and_sent_on_says_the_same(name: str) -> None:
    message = (GOLDEN / f"{name}.bin").read_bytes()
    cursor = Cursor(1, 2, 3)
    once = encode(parse(message), cursor)
    assert encode(merge([parse(message), parse(once)]), cursor) != b""
    assert encode(parse(once), cursor) == once
    of_type = {frame["type"]: frame.get("columns") for frame in said(once)}
    assert all(of_type[frame["type"]] == frame.get("columns") for frame in _told(name))


@pytest.mark.parametrize("cut", [1, 63, 64, 200])
def test_half_a_message_is_refused(cut: int) -> None:
    message = (GOLDEN / "a_round.bin").read_bytes()
    with pytest.raises(ValueError):  # noqa: PT011 - json, numpy and we say it each in our way
        decode(message[:cut])


def test_bytes_that_are_no_frame_are_refused() -> None:
    with pytest.raises(ValueError, match="not a frame at byte 0"):
        decode(b"\0" * 64)


def _told(name: str) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text())
    return frames


def _wide(frame: dict[str, Any], column: str, form: str) -> list[float]:
    """A column of the JSON as `decode` gives it."""
    values = [float(value) for value in frame["columns"][column]]
    if form == "time":
        return [-1 if value == OPEN_END else value * frame["unit"] + int(frame["base"]) for value in values]
    return [value * frame["unit"] for value in values] if form == "span" else values
