"""A federated training to watch: a coordinator and four trainers that learn handwritten digits together.

    pip install ./agents numpy scikit-learn
    export ROUNDWATCH_URL=http://127.0.0.1:8000 ROUNDWATCH_TOKEN=...
    python agents/examples/rounds.py

These are for the root of the repository. `federated/trainer.py` and `federated/coordinator.py` show how a training is
instrumented.
"""

import sys

from federated.coordinator import coordinate
from federated.launch import launch
from federated.options import Options, parse
from federated.processes import end_with_parent
from federated.trainer import train


def main(options: Options) -> int:
    """Runs one role, or without one starts a process for each; returns the exit code."""
    if options.role is None:
        return launch(options, script=__file__)
    end_with_parent()
    if options.role == "coordinator":
        coordinate(options)
    else:
        train(options)
    return 0


if __name__ == "__main__":
    sys.exit(main(parse(sys.argv[1:])))
