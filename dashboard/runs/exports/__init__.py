"""Files of a run for other programs: a trace for Perfetto, CSV and Parquet, made in slices."""
