"""The Celery application; its settings are the ones with which it recovers by itself from any death but the disk's."""

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from celery import Celery
from celery.apps.worker import Worker
from celery.platforms import EX_FAILURE
from celery.signals import worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.project.settings")

from django.conf import settings


def broker_url(redis_url: str) -> str:
    """Return Celery's spelling of a Redis URL: sockets are redis+socket:// there, and the database virtual_host."""
    if not redis_url.startswith("unix://"):
        return redis_url
    path, _, query = redis_url.removeprefix("unix://").partition("?")
    return f"redis+socket://{path}" + (f"?{query.replace('db=', 'virtual_host=')}" if query else "")


class _QuickWorker(Worker):
    """Where its main process can go on no more, as after an error of the broker's that Celery did not foresee, it ends.

    Celery would first wait for its tasks and for a broker that may not answer, half a minute in which nothing is done.
    Their tasks are redone, as those of any worker that is killed; the supervisor starts the next one at once.
    """

    def stop(self, in_sighandler: bool = False, exitcode: int | None = None) -> None:  # noqa: FBT001, FBT002 - Celery's
        if exitcode == EX_FAILURE:
            os._exit(EX_FAILURE)
        super().stop(in_sighandler, exitcode)


class _Application(Celery):
    @cached_property
    def Worker(self) -> Any:  # noqa: N802 - Celery looks for this name
        return self.subclass_with_self(_QuickWorker, name="Worker")


app = _Application("roundwatch")
app.set_default()  # ingest starts tasks by name from threads of its own, where no app is current
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        # Longer than any task may take, and short enough that a dead worker's task is redone within 25 s.
        "visibility_timeout": 20,
        # The defaults look for orphaned tasks every tenth time and hold the lock on doing so for five minutes.
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": 10,
        "socket_timeout": 5,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 5,
    },
    redis_socket_timeout=5,
    redis_socket_keepalive=True,
    redis_backend_health_check_interval=5,
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_time_limit=15,
    task_soft_time_limit=12,
    worker_prefetch_multiplier=1,
    worker_cancel_long_running_tasks_on_connection_loss=True,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    timezone="UTC",
)
app.autodiscover_tasks()


@worker_ready.connect
def _say_ready(**_: Any) -> None:
    """Tell the supervisor, who waits for this file, that tasks are taken from now on."""
    ready_file = os.environ.get("ROUNDWATCH_WORKER_READY_FILE")
    if ready_file:
        Path(ready_file).touch(mode=0o600)
