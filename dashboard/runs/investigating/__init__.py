"""Investigations: a finding, the change made about it, and the later runs that did or did not pass its check."""
