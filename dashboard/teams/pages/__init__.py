"""Pages about teams and the people in them, one file each."""
