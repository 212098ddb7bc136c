"""Cases on backends: a stream of results. No printing."""
