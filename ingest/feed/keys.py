"""Where a run's feed lies in Redis: shared by its only writer and its readers."""

from uuid import UUID


def feed_key(run_id: UUID | str) -> str:
    """The stream of entries: field `f` holds frames, `n` the stream numbers they tell of, as JSON."""
    return f"rw:feed:{run_id}"


def epoch_key(run_id: UUID | str) -> str:
    """The number of this life of the feed, made at random with its first entry."""
    return f"rw:feed:{run_id}:epoch"
