"""Renderings of results: each takes the stream of a run and knows nothing of how it came about."""
