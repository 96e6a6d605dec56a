"""`python -m roundwatch`: the command line, where the script `roundwatch` is not on the path."""

import sys

from roundwatch.cli import main

sys.exit(main())
