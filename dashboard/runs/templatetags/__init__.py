"""Template filters of the runs pages."""
