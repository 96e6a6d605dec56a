"""Every read of what is known; each returns frozen dataclasses, querysets or arrays."""
