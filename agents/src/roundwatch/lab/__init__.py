"""Named scenarios: what the workers of a run did, played to a server as if it happened, or at once as history."""
