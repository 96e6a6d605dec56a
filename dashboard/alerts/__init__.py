"""Findings told to people: rules, the inbox, and the ways to tell."""
