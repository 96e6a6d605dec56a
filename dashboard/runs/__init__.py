"""Browsing runs: the list, and the REST endpoints for scripts."""
