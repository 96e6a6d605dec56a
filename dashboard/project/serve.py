"""Runs uvicorn on a socket that is already listening, so that a restart of the web server refuses no connection."""

import argparse
import gc
import importlib
import os
import socket
import sys

import uvicorn
from django.conf import settings

from dashboard.project import env
from dashboard.project.heads import BoundedHeads


def load(config: uvicorn.Config) -> None:
    """Load the application, and have the collector pass over what it is made of from now on.

    A full collection looked through all of that, 50 ms within which nobody was answered; a single body of many small
    objects called for three of them.
    """
    config.load()
    importlib.import_module(settings.ROOT_URLCONF)  # else the first page loads it
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve the ASGI application on the inherited socket until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    # A thread that has its answer from Postgres waits for its turn, so long for each that computes before it. At every
    # statement 5 ms, the default, are too long, and a small team beside a busy one feels half a one.
    sys.setswitchinterval(0.0002)
    listening = socket.socket(fileno=parser.parse_args().fd)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.project.settings")
    config = uvicorn.Config(
        "dashboard.project.asgi:application",
        http=BoundedHeads,
        lifespan="on",
        access_log=False,
        log_config=None,  # Django's LOGGING is the only one
        server_header=False,
        timeout_graceful_shutdown=2,
        ws_max_size=320 * 1024,  # a browser says hello, with what it has seen of each stream, and acknowledges
        forwarded_allow_ips=env.text("ROUNDWATCH_TRUSTED_PROXIES", "127.0.0.1"),
    )
    load(config)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
