"""The live feed of a run: its frames (frames.py) and the only publisher of it (publisher.py)."""
