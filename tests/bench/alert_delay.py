"""How long after a phase has reached its limit the message leaves, and how long before the phase ends; printed.

A round of sixteen hosts of which two encode for 18 s is told as agents tell it; a watcher, Celery's worker and a
receiver of webhooks are processes and sockets of this machine. The limit's time is what the finding says, the message's
is its recorded try.
"""

import os
import statistics

from tests.bench.stage import stage
from tests.bench.table import Row, conditions, percentile, show

RUNS = 10


def main() -> None:
    """Play the round `RUNS` times, one after the other."""
    os.environ["ROUNDWATCH_WEBHOOK_NETWORKS"] = "127.0.0.0/8"
    conditions("alert_delay", f"{RUNS} rounds of 16 hosts, two of which encode for 18 s")
    with stage(tasks=True):
        from dashboard.teams.models import Team
        from tests.dashboard.alerts.receivers import receiving
        from tests.dashboard.alerts.telling import hook
        from tests.dashboard.alerts.told_in_time import told_while_slow

        team = Team.objects.get(slug="bench")
        with receiving() as receiver:
            hook(team, receiver.url)
            told_while_slow(team, "first")  # processes load what they need
            told = [told_while_slow(team, f"run-{number}") for number in range(RUNS)]
    delays, ahead = [one.delay_s for one in told], [one.ahead_s for one in told]
    show([
        Row(name="from the limit until the message leaves, median", ours=statistics.median(delays), unit="s", most=2),
        Row(name="the same, p95", ours=percentile(delays, 0.95), unit="s", most=2),
        Row(name="from its arrival until the phase ends, the least", ours=min(ahead), unit="s", least=10),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
