"""How much room there is for what teams send: half of it is one team's; and the answers to who finds none."""

from functools import partial

from ingest.store.arrivals import Fault

# Made anew for each request: an exception that is raised again keeps the frames of all its raises.
busy = partial(Fault, 503, "busy", "The server is busy; try again in a second.")
too_many = partial(Fault, 429, "too_many", "Too many requests of this team are on their way; try again in a second.")


def half(most: int) -> int:
    """What one team may fill of a room for so many, never less than one."""
    return max(most // 2, 1)
