"""What a framework tells of its training, recorded as rounds and phases: one file for each framework."""
