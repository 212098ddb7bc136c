"""Pages of runs and benchmarks, each one file that needs no network.

All but the list of all results can be read without scripts.
"""
