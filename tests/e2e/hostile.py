"""A run whose every name and text is hostile, and a run of as many lanes and phase names as a run may show."""

import datetime as dt
import time
from dataclasses import dataclass, replace
from typing import Any

from ingest.models import Finding, Run, Stream
from roundwatch import wire
from tests.cast import Cast
from tests.dashboard.runs_of import make_run
from tests.e2e.training import Training, send
from tests.ingest.batches import SECOND, Recorder

DOCUMENT_BREAKS = '<img src=x onerror="alert(1)">'
NAMES = (
    DOCUMENT_BREAKS,
    "</script><script>alert(1)</script>",
    "\"'><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7*7 }}{% load x %}${7*7}",
    '=HYPERLINK("http://elsewhere.example";"click")',
    "\u202egnol dna desrever \u2066\u2067",
    "\u200b\u200d\ufeff",
    wire.cleaned("nul\0 and half \ud83d"),
    "\U00012031" * 128,
    "W" * 128,
    "a\nb\tc\r  d \x1b[31m\x7f",
    "&lt;b&gt;&amp;&#x3c;",
    "__proto__",
)


@dataclass
class Hostile(Recorder):
    """A worker whose name stands for its group, machine, host and site too."""

    def identity(self) -> wire.Identity:
        """Whose stream this is."""
        text = self.worker
        return replace(super().identity(), group=text, machine=text, host=text, site=text)


def hostile_run(web: str, cast: Cast) -> Training:
    """A failed run, a worker and a phase for each of NAMES, with findings; and a listed run for each."""
    training = Training(web, cast, names=())
    told = {text: {"key": text, text: [text]} for text in NAMES}
    for index, text in enumerate(NAMES):
        recorder = Hostile(text, run=DOCUMENT_BREAKS, project=DOCUMENT_BREAKS, began_ns=training.begin_ns)
        recorder.begin(name=NAMES[1], rounds=20, config=told, conditions=told, tags=list(NAMES))
        _a_round(recorder, training, text)
        recorder.finish(training.at(51), "failed", error=f"RuntimeError: {text}")
        training.recorders.append(recorder)
        make_run(cast.team, text, project=text, key=str(index))
    training.say()
    _findings(Run.objects.get(key=DOCUMENT_BREAKS))
    return training


def _a_round(recorder: Recorder, training: Training, text: str) -> None:
    attributes: dict[str, Any] = {text: text, "error": text}
    recorder.begin_round(0, training.at(1))
    recorder.phase("train", training.at(1), training.at(20), round=0)
    recorder.phase(text, training.at(20), training.at(45), round=0, state="error", **attributes)
    recorder.event(text, training.at(46), round=0, note=text)
    recorder.sample(text, 7.0, training.at(30), worker=text, unit=text, source="training", device=text)
    recorder.sample(text, 9.0, training.at(40), worker=text, unit=text, source="training", device=text)
    recorder.end_round(0, training.at(50))


def _findings(run: Run) -> None:
    now = dt.datetime.now(dt.UTC)
    for stream in Stream.objects.filter(run=run).select_related("worker"):
        text = stream.worker.name if stream.worker else ""
        Finding.objects.create(
            run=run, kind="straggler", fingerprint=str(stream.index), phase=text, workers=[text], rounds=[0],
            opened_at=now, updated_at=now, observed=text, hypothesis=text, spans=[[stream.index, 4, stream.index, 0]],
            evidence={text: text},
        )  # fmt: skip


def large_run(web: str, cast: Cast, lanes: int = 1000, names: int = 512) -> Training:
    """A running run of so many workers on a quarter as many machines, and so many phase names."""
    training = Training(web, cast, names=tuple(f"rank-{index}" for index in range(lanes)))
    for index, recorder in enumerate(training.recorders):
        recorder.run, recorder.machine = "large", f"machine-{index // 4}"
        recorder.begin_round(0, training.at(1))
        recorder.phase("train", training.at(1), training.at(20), round=0)
        recorder.phase(f"part-{index % (names - 1)}", training.at(20), training.at(40), round=0)
        recorder.end_round(0, training.at(41))
    for begin in range(0, lanes, 250):
        batches = [
            recorder.heartbeat(time.time_ns() // SECOND * SECOND) for recorder in training.recorders[begin:][:250]
        ]
        send(web, training.token, *batches)
    return training
