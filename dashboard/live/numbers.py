"""Sets of stream numbers as sorted, disjoint, inclusive ranges: what a viewer has been shown, and what it has not."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping

Ranges = list[tuple[int, int]]
Numbers = dict[int, Ranges]  # by the stream's primary key

_MOST_TEXT = 256 * 1024
_MOST_JSON = 2 * 1024 * 1024


def normal(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same numbers as sorted ranges that neither overlap nor touch."""
    result: Ranges = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        elif first <= last:
            result.append((first, last))
    return result


def union(one: Ranges, other: Ranges) -> Ranges:
    """Numbers in either."""
    if not one or not other:
        return one or other
    return normal([*one, *other])


def minus(one: Ranges, other: Ranges) -> Ranges:
    """Numbers in `one` that are not in `other`."""
    result: Ranges = []
    place = 0
    for first, last in one:
        while place < len(other) and other[place][1] < first:
            place += 1
        start, ahead = first, place
        while ahead < len(other) and other[ahead][0] <= last:
            if other[ahead][0] > start:
                result.append((start, other[ahead][0] - 1))
            start = max(start, other[ahead][1] + 1)
            ahead += 1
        if start <= last:
            result.append((start, last))
    return result


def meet(one: Ranges, other: Ranges) -> Ranges:
    """Numbers in both."""
    return minus(one, minus(one, other))


def count(numbers: Numbers) -> int:
    """How many numbers there are over all streams."""
    return sum(last - first + 1 for ranges in numbers.values() for first, last in ranges)


def each_minus(one: Numbers, other: Numbers) -> Numbers:
    """`minus`, stream by stream; streams of which nothing is left are left out."""
    left = {stream: minus(ranges, other.get(stream, [])) for stream, ranges in one.items()}
    return {stream: ranges for stream, ranges in left.items() if ranges}


def each_meet(one: Numbers, other: Numbers) -> Numbers:
    """`meet`, stream by stream."""
    both = {stream: meet(ranges, other[stream]) for stream, ranges in one.items() if stream in other}
    return {stream: ranges for stream, ranges in both.items() if ranges}


def each_union(*several: Mapping[int, Ranges]) -> Numbers:
    """`union`, stream by stream."""
    result: Numbers = {}
    for numbers in several:
        for stream, ranges in numbers.items():
            result[stream] = union(result.get(stream, []), ranges)
    return result


def to_text(numbers: Numbers) -> str:
    """Numbers as text for a viewer to keep and give back: what its picture is based on; "" where that is too long."""
    flat = [[stream, *(bound for ends in ranges for bound in ends)] for stream, ranges in numbers.items() if ranges]
    plain = json.dumps(flat, separators=(",", ":")).encode()
    if len(plain) > _MOST_JSON:
        return ""
    text = base64.b64encode(zlib.compress(plain, 1)).decode()
    return text if len(text) <= _MOST_TEXT else ""


def from_text(text: str) -> Numbers:
    """The inverse of `to_text`. Raises ValueError for anything that it did not make, however large it would become."""
    if len(text) > _MOST_TEXT:
        raise ValueError("too long")
    try:
        inflate = zlib.decompressobj()
        plain = inflate.decompress(base64.b64decode(text, validate=True), _MOST_JSON)
        if not inflate.eof:
            raise ValueError("unfinished or too large")
        return {_whole(row[0]): _pairs(row[1:]) for row in json.loads(plain)}
    except (zlib.error, TypeError, IndexError, RecursionError) as error:
        raise ValueError("not a base") from error


def _pairs(bounds: list[int]) -> Ranges:
    firsts, lasts = bounds[0::2], bounds[1::2]
    return normal((_whole(first), _whole(last)) for first, last in zip(firsts, lasts, strict=True))


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError("not a number of a stream")
    return value
