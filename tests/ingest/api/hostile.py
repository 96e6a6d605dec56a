"""Bodies that cost a server as much as they can for what they weigh: for tests, and for a flood in a benchmark."""

import gzip
import json
import time
from dataclasses import asdict

from roundwatch import wire
from tests.ingest.batches import SECOND, Recorder, request

_MANY = 400_000


def with_more(batch: wire.Batch, more: str) -> bytes:
    """A request's text: the batch with more JSON members at its end, where they win over those of the same name."""
    return f'{{"batches":[{json.dumps(asdict(batch))[:-1]},{more}}}]}}'.encode()


def hostile_bodies() -> dict[str, bytes]:
    """Gzip bodies by what is wrong with them; the server refuses each, or sets its records aside."""
    beat = Recorder(began_ns=time.time_ns()).batch()
    keys = ",".join(f'"{place}":1' for place in range(_MANY))
    texts = {
        "metrics without number": with_more(beat, _list_of("metrics", '{"name":""}', _MANY)),
        "names without number": with_more(beat, _list_of("names", '""', _MANY)),
        "nested attributes": with_more(beat, _list_of("attrs", '{"a":{"a":{"a":{}}}}', _MANY // 2)),
        "numbers without number": with_more(beat, _list_of("starts", "0", 10 * _MANY)),
        "numbers of many digits": with_more(beat, _list_of("starts", "1" * 400, 20_000)),
        "just as many values as allowed": with_more(beat, f'"samples":{{{_list_of("value", "0.1", 550_000)}}}'),
        "one object of many keys": with_more(beat, f'"attrs":[{{{keys}}}]'),
        "one object of empty lists": with_more(beat, f'"attrs":[{{{_list_of("a", "[]", 290_000)}}}]'),
        "NaN among many": with_more(beat, f'"attrs":[{{"b":NaN,{_list_of("a", "1", 140_000)}}}]'),
        "a name of millions": with_more(beat, f'"names":["{"x" * 8_000_000}"]'),
        "heartbeats without number": json.dumps(asdict(request(*[beat] * 8_000))).encode(),
        "the deepest nesting": b'{"batches":' + b"[" * _MANY,
        "blanks": b" " * (8 << 20),
        "a bomb": b" " * (200 << 20),
    }
    return {what: gzip.compress(text, 6) for what, text in texts.items()} | {"records to be set aside": _rejected()}


def _list_of(name: str, entry: str, count: int) -> str:
    return f'"{name}":[{",".join([entry] * count)}]'


def _rejected() -> bytes:
    recorder = Recorder(run="refused", began_ns=time.time_ns())
    for place in range(wire.MAX_RECORDS):
        recorder.sample("loss", place, SECOND)  # in 1970
    return wire.encode(request(recorder.batch()))
