"""Pages of runs and benchmarks: single files that need no network."""
