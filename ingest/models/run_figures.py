"""The figures of a run as a whole: what trends are drawn of, and what later runs are compared with."""

from typing import ClassVar

from django.db import models

# The figures of which three percentiles are kept.
MEASURES = ("round_s", "waiting_share", "comm_share", "encode_s")
SUMMED = (
    "device", "devices", "trainers", "machines", "rounds", "newest_ns", "memory_peak_bytes", "memory_peak_worker",
    "device_peak_bytes", "sampled_ns", *(f"{name}{end}" for name in MEASURES for end in ("_p5", "", "_p95")),
)  # fmt: skip


def _figure() -> "models.FloatField[float | None, float | None]":
    return models.FloatField(null=True)


class RunFigures(models.Model):
    """Kept by a task, so that no page sums up rounds; null until known, and for what is not known.

    `due_at` is when the run is to be summed up (again), null while nothing is new. `device` is the model of most of its
    trainers' `devices`, empty where none is known. Of `rounds` judged ones, warm-up left out, three figures each: the
    5th, 50th and 95th percentile. `encode_s` is of trainers and rounds, what one spent in phases of that kind.
    Peaks are the most that one worker, and one device, held; `sampled_ns` is the newest reading that they know.
    """

    run = models.OneToOneField("ingest.Run", models.CASCADE, primary_key=True, related_name="figures")
    due_at = models.DateTimeField(null=True)
    summed_at = models.DateTimeField(null=True)
    device = models.CharField(max_length=128, blank=True, default="")
    devices = models.PositiveIntegerField(default=0)
    trainers = models.PositiveIntegerField(default=0)
    machines = models.PositiveIntegerField(default=0)
    rounds = models.PositiveIntegerField(default=0)
    newest_ns = models.BigIntegerField(null=True, help_text="End of the newest of `rounds`, Unix nanoseconds.")
    round_s_p5, round_s, round_s_p95 = _figure(), _figure(), _figure()
    waiting_share_p5, waiting_share, waiting_share_p95 = _figure(), _figure(), _figure()
    comm_share_p5, comm_share, comm_share_p95 = _figure(), _figure(), _figure()
    encode_s_p5, encode_s, encode_s_p95 = _figure(), _figure(), _figure()
    memory_peak_bytes = _figure()
    memory_peak_worker = models.CharField(max_length=128, blank=True, default="")
    device_peak_bytes = _figure()
    sampled_ns = models.BigIntegerField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="run_figures_due"),
            models.Index(fields=["device", "devices", "trainers"], name="run_figures_group"),
        ]

    @property
    def group(self) -> str:
        """Its conditions in words, the same for runs that may be compared: "8 × NVIDIA A40, 2 trainers"."""
        trainers = f"{self.trainers} trainer{'' if self.trainers == 1 else 's'}"
        if not self.devices:
            return f"{trainers}, no device known"
        found = f"{self.devices} × {self.device}"
        return found if self.devices == self.trainers else f"{found}, {trainers}"
