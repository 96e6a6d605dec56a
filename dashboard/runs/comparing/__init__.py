"""Comparing runs: what differs, figures side by side, one round of each, and what may be said of the difference."""
