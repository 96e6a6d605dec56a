"""Log lines for people, or as JSON for machines (ROUNDWATCH_LOG=json), with the request or task that they are about."""

import datetime as dt
import json
import logging
import sys

from dashboard.project.request_ids import current

FORMS = ("text", "json")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def task_id(record: logging.LogRecord) -> str:
    """The id of the Celery task that a line is written in or, by Celery itself, about; empty for none."""
    about = getattr(record, "data", None)
    if record.name.startswith("celery.") and isinstance(about, dict) and isinstance(about.get("id"), str):
        return str(about["id"])
    celery = sys.modules.get("celery._state")  # a process that has no tasks need not load it
    task = celery.get_current_task() if celery else None
    return str(task.request.id or "") if task else ""


class Text(logging.Formatter):
    """One line for people: time, level, logger, the request or task in brackets, message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and under it the trace of an exception."""
        known = current.get() or task_id(record)
        record.__dict__["about"] = f" [{known}]" if known else ""
        return super().format(record)


class Json(logging.Formatter):
    """One JSON object a line: `time` (RFC 3339, UTC), `level`, `logger`, `message`, `request_id`, `task_id`.

    What a line does not have is null; `exception` is there only where one is told.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break in it."""
        line = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="microseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": current.get() or None,
            "task_id": task_id(record) or None,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def logging_of(form: str, level: str) -> dict[str, object]:
    """Django's LOGGING: everything to standard error, in one of FORMS, from `level` on."""
    line = {
        "text": {
            "()": "dashboard.project.logs.Text",
            "fmt": "%(asctime)s %(levelname)s %(name)s:%(about)s %(message)s",
        },
        "json": {"()": "dashboard.project.logs.Json"},
    }[form]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": line},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
    }
