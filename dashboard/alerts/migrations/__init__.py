"""The tables of alerts."""
