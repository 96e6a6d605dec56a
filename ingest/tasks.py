"""What Celery does, started by name: each task loads, calls what knows, stores and tells."""

from uuid import UUID

from celery import shared_task
from django.db import transaction

from ingest.detection import straggler, summary
from ingest.detection.facts import History
from ingest.feed import messages
from ingest.feed.publisher import publish, publish_findings
from ingest.models import Finding, Round, Run
from ingest.queries import judging
from ingest.store import deletion, findings, rounds, summaries
from ingest.store.locks import Lock, hold


@shared_task(name="ingest.judge_round")
def judge_round(run_id: str, index: int, generation: int) -> None:
    """Sum up a closed round and judge the window that it completes; done again, it gives the same."""
    key = UUID(run_id)
    with transaction.atomic():
        hold(Lock.JUDGING, key)
        judged = judging.closed(key, index, generation)
        run = Run.objects.filter(pk=key).first()
        if judged is None or run is None:
            return
        found = summary.figures(judged.spans, judged.trainers, judged.begin_ns, judged.end_ns)
        summaries.save(judged.id, found, judged.version)
        changed = _judge_windows(run, index) if judged.newest else []
    row = Round.objects.filter(pk=judged.id).first()
    if row is not None:
        publish(key, messages.steps([row], rounds.newest_generations(key, [index])))
    publish_findings(key, changed)


def _judge_windows(run: Run, index: int) -> list[Finding]:
    """The window of the round by itself, and what lasts as of the newest one: late data may reach back."""
    changed: list[Finding] = []
    own = judging.window_of(run.pk, index)
    if own is None:
        return changed
    newest = judging.newest_window(run.pk)
    for last in sorted({own, newest or own}):
        history = judging.history(run.pk, last)
        judgement = straggler.judge(history)
        if last == own and history.windows:
            window = history.windows[-1].rounds
            summaries.save_sights(run.pk, window, judgement.sights)
            changed += findings.put_once(run, straggler.KIND, window[0], judgement.once)
        if last == newest:
            changed += findings.put_lasting(run, straggler.KIND, _known_from(history), judgement.lasting)
    return changed


def _known_from(history: History) -> int:
    return history.windows[0].rounds[0] if history.windows else 0


@shared_task(name="ingest.delete_run")
def delete_run(run_id: str) -> None:
    """Go on with a deletion that has begun; the watcher asks again until nothing is left."""
    deletion.advance(UUID(run_id))
