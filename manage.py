#!/usr/bin/env python
"""Django's command line for the Roundwatch server."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.project.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as reason:  # a setting is wrong: its sentence says more than the way to it
        sys.exit(str(reason))
    except OperationalError as reason:
        sys.exit(f"The database does not answer ({reason}); is Roundwatch up, with the same ROUNDWATCH_DATA?")
