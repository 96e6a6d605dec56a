"""The live Gantt of a run: snapshot and feed for its viewers, and the page that draws them."""
